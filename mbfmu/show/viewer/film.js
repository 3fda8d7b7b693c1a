// -- a film of a recorded run, drawn picture by picture -----------------------------------------------------------------

const FILM = { chunks: [], head: "", fault: "", encoder: null };
const asText = (data) => btoa(Array.from(data, (item) => String.fromCharCode(item)).join(""));

/** Bring the picture to its size, and make an encoder if there is to be one; return why there is none. */
async function beginFilm([width, rate, codec]) {
  play(false);
  easier.splice(0); // pictures keep shadows and sharpness, however slowly they are drawn
  while (renderer.domElement.width !== width) await new Promise(requestAnimationFrame);
  look("oblique");
  if (!codec) return "";
  if (!window.VideoEncoder) return "it has no VideoEncoder";
  const size = { width: renderer.domElement.width, height: renderer.domElement.height };
  const setting = { codec, ...size, bitrate: 6e6, framerate: rate, avc: { format: "avc" } };
  if (!(await VideoEncoder.isConfigSupported(setting)).supported) return `it does not encode ${codec}`;
  FILM.encoder = new VideoEncoder({
    output: (chunk, about) => {
      const data = new Uint8Array(chunk.byteLength);
      chunk.copyTo(data);
      FILM.chunks.push([asText(data), chunk.type === "key"]);
      if (about.decoderConfig?.description) FILM.head = asText(new Uint8Array(about.decoderConfig.description));
    },
    error: (error) => { FILM.fault = error.message; },
  });
  FILM.encoder.configure(setting);
  return "";
}

/** Draw the picture at time t; return it as PNG, or encode it as the one at a time of the film. */
async function drawFilm([time, stamp, key]) {
  seek(time);
  renderer.render(scene, camera);
  if (!FILM.encoder) return renderer.domElement.toDataURL("image/png").split(",")[1];
  const frame = new VideoFrame(renderer.domElement, { timestamp: stamp * 1e6 });
  FILM.encoder.encode(frame, { keyFrame: key });
  frame.close();
  while (FILM.encoder.encodeQueueSize > 4) await new Promise((done) => setTimeout(done, 5));
  return "";
}

async function endFilm() {
  await FILM.encoder.flush();
  return [FILM.chunks, FILM.head, FILM.fault];
}
