// SPDX-License-Identifier: BSD-2-Clause
// The packed spans, unpacked piece by piece while the page can already be used. The format is that of html_spans.h.

const HEADER_BYTES = 20;
const SLICE_MS = 14; // at a time, before the page gets to draw again

const bytesOf = (base64) => {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(base64);
	const text = atob(base64), bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	return bytes;
};

const inflate = async (bytes) => {
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
};

// n numbers whose bytes lie apart by weight.
const planes = (bytes, at, n, width) => {
	const values = new Float64Array(n);
	for (let byte = 0, weight = 1; byte < width; byte++, weight *= 256)
		for (let i = 0, from = at + byte * n; i < n; i++)
			values[i] += bytes[from + i] * weight;
	return values;
};

// {n, starts, ends, values or null, flagged, flags}; times in nanoseconds.
const unpackPiece = (bytes, unit) => {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const n = view.getUint32(0, true), [pauseBytes, lengthBytes, valueBytes] = bytes.subarray(4, 7);
	const nFlags = view.getUint32(16, true);
	const lengthsAt = HEADER_BYTES + n * pauseBytes, valuesAt = lengthsAt + n * lengthBytes, flagsAt = valuesAt + n * valueBytes;
	const starts = planes(bytes, HEADER_BYTES, n, pauseBytes), ends = planes(bytes, lengthsAt, n, lengthBytes);
	let t = view.getFloat64(8, true);
	for (let i = 0; i < n; i++) {
		const start = t + starts[i];
		t = start + ends[i];
		starts[i] = start * unit;
		ends[i] = t * unit;
	}
	const values = valueBytes ? planes(bytes, valuesAt, n, valueBytes).map((v) => v % 2 ? -(v + 1) / 2 : v / 2) : null;
	const flagged = new Uint32Array(nFlags);
	for (let i = 0; i < nFlags; i++)
		flagged[i] = view.getUint32(flagsAt + 4 * i, true);
	return { n, starts, ends, values, flagged, flags: bytes.subarray(flagsAt + 4 * nFlags, flagsAt + 5 * nFlags) };
};

// Elements are removed as they are read: their text is not needed twice.
const unpackAll = async (rec, onProgress) => {
	const pieces = [...document.querySelectorAll('script.spans')];
	let begun = performance.now();
	for (const lane of rec.lanes)
		lane.wire = new Wire(Math.min(lane.sums.spans, 2 ** 27), lane.members > 1);
	for (let i = 0; i < pieces.length; i++) {
		const lane = rec.byIndex[pieces[i].dataset.lane];
		if (lane)
			lane.wire.append(unpackPiece(await inflate(bytesOf(pieces[i].textContent)), rec.facts.unit));
		pieces[i].remove();
		if (performance.now() - begun < SLICE_MS)
			continue;
		onProgress((i + 1) / pieces.length);
		await new Promise((done) => setTimeout(done));
		begun = performance.now();
	}
	rec.lanes.forEach((lane) => lane.wire.sort());
	onProgress(1);
};
