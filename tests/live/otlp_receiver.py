# SPDX-License-Identifier: BSD-2-Clause
"""A receiver of OpenTelemetry metrics over HTTP that reads strictly: what it can't place is an error, not skipped.

The messages are stated here once more, from OpenTelemetry's own definitions (opentelemetry-proto, v1: metrics.proto, common.proto,
resource.proto, metrics_service.proto), apart from those in user/sink/otlp.proto: so a wrong name or number there is seen here. They
are built as protoc would, and read by Debian's python3-protobuf.
"""
import gzip
import http.server
import threading

from harness import until

MESSAGES = {
    "ExportMetricsServiceRequest": "*ResourceMetrics resource_metrics 1",
    "ResourceMetrics": "Resource resource 1, *ScopeMetrics scope_metrics 2, string schema_url 3",
    "Resource": "*KeyValue attributes 1, uint32 dropped_attributes_count 2",
    "ScopeMetrics": "InstrumentationScope scope 1, *Metric metrics 2, string schema_url 3",
    "InstrumentationScope": "string name 1, string version 2, *KeyValue attributes 3, uint32 dropped_attributes_count 4",
    "Metric": "string name 1, string description 2, string unit 3, Gauge gauge 5, Sum sum 7, Histogram histogram 9",
    "Gauge": "*NumberDataPoint data_points 1",
    "Sum": "*NumberDataPoint data_points 1, int32 aggregation_temporality 2, bool is_monotonic 3",
    "Histogram": "*HistogramDataPoint data_points 1, int32 aggregation_temporality 2",
    "NumberDataPoint": "fixed64 start_time_unix_nano 2, fixed64 time_unix_nano 3, double as_double 4, sfixed64 as_int 6, "
                       "*KeyValue attributes 7, uint32 flags 8",
    "HistogramDataPoint": "fixed64 start_time_unix_nano 2, fixed64 time_unix_nano 3, fixed64 count 4, double sum 5, "
                          "*fixed64 bucket_counts 6, *double explicit_bounds 7, *KeyValue attributes 9, uint32 flags 10, "
                          "double min 11, double max 12",
    "KeyValue": "string key 1, AnyValue value 2",
    "AnyValue": "string string_value 1, bool bool_value 2, int64 int_value 3, double double_value 4",
}
CUMULATIVE = 2
PACKAGE = "otlp_as_stated_here"


def message_classes():
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # where it is not installed, the test says so
    kinds = {name[5:].lower(): number for name, number in descriptor_pb2.FieldDescriptorProto.Type.items()}
    file = descriptor_pb2.FileDescriptorProto(name=PACKAGE + ".proto", package=PACKAGE, syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for text in fields.split(", "):
            kind, field, number = text.split()
            repeated, kind = kind.startswith("*"), kind.lstrip("*")
            f = message.field.add(name=field, number=int(number), label=3 if repeated else 1)
            if kind in MESSAGES:
                f.type, f.type_name = kinds["message"], ".%s.%s" % (PACKAGE, kind)
            else:
                f.type = kinds[kind]
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName("%s.%s" % (PACKAGE, name))) for name in MESSAGES}


def unknown_fields(message):
    """Whether anything in it, however deep, has no place in the definitions."""
    if len(message.UnknownFields()):
        return True
    inner = []
    for field, value in message.ListFields():
        if field.message_type:
            inner += value if field.label == field.LABEL_REPEATED else [value]
    return any(unknown_fields(m) for m in inner)


def labels_of(attributes):
    found = {a.key: a.value.string_value for a in attributes}
    if len(found) != len(attributes) or "" in found:
        raise AssertionError("a key twice or empty: %s" % [a.key for a in attributes])
    return tuple(sorted(found.items()))


class Point:
    def __init__(self, metric, kind, point):
        self.name, self.unit, self.kind = metric.name, metric.unit, kind
        self.labels = labels_of(point.attributes)
        self.start, self.time = point.start_time_unix_nano / 1e9, point.time_unix_nano / 1e9
        self.value = point.sum if kind == "histogram" else point.as_double
        if kind == "histogram":
            self.count, self.bounds, self.buckets = point.count, list(point.explicit_bounds), list(point.bucket_counts)


class Receiver:
    """On a port of this machine, with a thread of its own. answer: (status, headers, body) for each request."""

    OK = (200, {"Content-Type": "application/x-protobuf"}, b"")

    def __init__(self, test, port=0):
        self.answer, self.requests, self.points, self.resources, self.errors = self.OK, [], [], [], []
        self.classes = message_classes()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                receiver.take(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = "http://127.0.0.1:%d" % self.port
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()
        test.addCleanup(self.stop)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(10)

    def take(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        status, headers, answer = self.answer
        try:
            if status == 200:
                self.decode(handler, body)
        except Exception as e:  # pylint: disable=broad-except # it is the test's to fail
            self.errors.append("%s: %s" % (type(e).__name__, e))
        self.requests.append((handler.path, dict(handler.headers), status))
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": len(answer)}.items():
            handler.send_header(name, str(value))
        handler.end_headers()
        handler.wfile.write(answer)

    def decode(self, handler, body):
        if handler.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        request = self.classes["ExportMetricsServiceRequest"].FromString(body)
        if unknown_fields(request):
            raise AssertionError("fields that OpenTelemetry does not know")
        points = []
        for of_resource in request.resource_metrics:
            self.resources.append(dict(labels_of(of_resource.resource.attributes)))
            for of_scope in of_resource.scope_metrics:
                for metric in of_scope.metrics:
                    points += self.decode_metric(metric)
        if not points:
            raise AssertionError("a request without a point")
        self.points += points

    @staticmethod
    def decode_metric(metric):
        kinds = [k for k in ("gauge", "sum", "histogram") if metric.HasField(k)]
        if len(kinds) != 1:
            raise AssertionError("%s is %s" % (metric.name, kinds))
        data = getattr(metric, kinds[0])
        if kinds[0] != "gauge" and data.aggregation_temporality != CUMULATIVE:
            raise AssertionError("%s is not cumulative" % metric.name)
        if kinds[0] == "sum" and not data.is_monotonic:
            raise AssertionError("%s is not monotonic" % metric.name)
        return [Point(metric, kinds[0], p) for p in data.data_points]

    def of(self, name, **labels):
        return [p for p in list(self.points) if p.name == name and all((k, v) in p.labels for k, v in labels.items())]

    def wait_for(self, n, timeout=20):
        until(lambda: len(self.requests) >= n, timeout, "%d requests" % n)
