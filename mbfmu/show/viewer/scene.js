"use strict";
const motion = JSON.parse(document.getElementById("motion").textContent);
const element = (id) => document.getElementById(id);
const DARK = matchMedia("(prefers-color-scheme: dark)");
const { colours: COLOURS, roles: ROLES } = motion;
const BRIGHT = ["#56b4e9", "#ff9d5c", "#3ecf9a", "#e3a0c4", "#f5c242", "#9ad4f5", "#b59ad0", "#c9a08f"]; // on dark
const THEMES = {
  light: { curves: COLOURS, text: "#333", label: "#555", grid: "#e6e8ea", frame: "#9aa0a6", cursor: "#222",
    sky: "#f4f6f8", lines: ["#b9bfc6", "#d5dade"] },
  dark: { curves: BRIGHT, text: "#ddd", label: "#b6bbc2", grid: "#33373d", frame: "#666c74", cursor: "#eee",
    sky: "#1d2024", lines: ["#4a5058", "#33383e"] },
};
const theme = () => THEMES[DARK.matches ? "dark" : "light"];
const AXES = ["#c1272d", "#2e8b57", "#2a52be"];
const SCALE = ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"]; // viridis, of stresses from zero on
const PALE = "#c3c8ce"; // of bodies without stresses, where colours are stresses
const SAMPLES = 16; // number of times at which the extent of the mechanism is measured
const CREASE = Math.cos((40 * Math.PI) / 180); // between faces that meet at a sharp edge

function bytes(text) {
  return Uint8Array.from(atob(text), (item) => item.charCodeAt(0)).buffer;
}
const numbers = (text) => new Float32Array(bytes(text));
const instants = (text) => new Float64Array(bytes(text)); // which may be long after zero
const colour = (text) => new THREE.Color(text).convertSRGBToLinear(); // as the renderer wants it
const vector = (p) => new THREE.Vector3(p[0], p[1], p[2]);

const times = instants(motion.times), poses = numbers(motion.poses);
const begin = times[0], end = times[times.length - 1], length = end - begin;
const wide = motion.dim === 3 ? 7 : 3; // numbers of a pose
const up = vector(motion.up).normalize();

// -- the bodies -----------------------------------------------------------------------------------------------------

const world = new THREE.Group();
const frames = motion.bodies.map(() => new THREE.Group());
frames.forEach((frame) => world.add(frame));
const frameOf = (body) => (body < 0 ? world : frames[body]);

const groups = [...new Set(motion.bodies.map((body) => body.group))];
const paints = motion.bodies.map(() => new THREE.MeshStandardMaterial({ roughness: 0.55, metalness: 0.05 }));
const plain = Object.fromEntries(Object.entries(ROLES).map(([role, text]) => [role, new THREE.MeshStandardMaterial({
  color: colour(text), roughness: role === "steel" ? 0.3 : 0.6, metalness: role === "steel" ? 0.35 : 0.05 })]));
const paint = (body, role) => (role === "body" && body >= 0 ? paints[body] : plain[role === "body" ? "ground" : role]);

const shown = motion.bodies.map(() => []); // what the legend switches
const simple = [], looks = []; // what the box `shapes` switches
const pickable = [];

function add(body, mesh, label) {
  mesh.castShadow = mesh.receiveShadow = true;
  mesh.userData.label = label ?? (body < 0 ? "world" : motion.bodies[body].name);
  frameOf(body).add(mesh);
  pickable.push(mesh);
  if (body >= 0) shown[body].push(mesh);
  return mesh;
}

/** Put a mesh along y from the origin to 1 between two points. */
function stretch(mesh, from, to) {
  const along = to.clone().sub(from), size = along.length();
  mesh.position.copy(from);
  mesh.scale.set(1, Math.max(size, 1e-9), 1);
  mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), along.normalize());
}

/** Where the common tangent of two sheaves of signed radii leaves one and meets the other: exchanged.py has the formula. */
function tangent(winds, axle, from, to) {
  const d = to.clone().sub(from), flat = d.clone().addScaledVector(axle, -d.dot(axle)), turned = axle.clone().cross(d);
  const square = flat.lengthSq(), difference = winds[1] - winds[0];
  const along = flat.multiplyScalar(Math.sqrt(Math.max(square - difference ** 2, 0))).addScaledVector(turned, -difference);
  const across = axle.clone().cross(along).divideScalar(square);
  return [from.addScaledVector(across, -winds[0]), to.addScaledVector(across, -winds[1])];
}

function tube(radius, last) {
  return new THREE.CylinderGeometry(last, radius, 1, 28).translate(0, 0.5, 0);
}

const makers = {
  ball({ at, radius }) {
    return new THREE.SphereGeometry(radius, 28, 18).translate(at[0], at[1], at[2]);
  },
  box({ at, x, y, sides }) {
    const [e, f] = [vector(x), vector(y)];
    return new THREE.BoxGeometry(...sides).applyMatrix4(new THREE.Matrix4().makeBasis(e, f, e.clone().cross(f)).setPosition(vector(at)));
  },
  plate({ at, x, y, outline, thick }) {
    const bevel = 0.12 * thick;
    const shape = new THREE.Shape(outline.map(([a, b]) => new THREE.Vector2(a, b)));
    const made = new THREE.ExtrudeGeometry(shape, { depth: thick - 2 * bevel, bevelThickness: bevel, bevelSize: bevel,
      bevelOffset: -bevel, bevelSegments: 2, curveSegments: 4 }).translate(0, 0, -thick / 2 + bevel);
    const [e, f] = [vector(x), vector(y)];
    return made.applyMatrix4(new THREE.Matrix4().makeBasis(e, f, e.clone().cross(f)).setPosition(vector(at)));
  },
};
for (const item of motion.solids) {
  let mesh;
  if (item.kind === "tube" || item.kind === "rail") {
    mesh = new THREE.Mesh(tube(item.radius, item.end), paint(item.body, item.role));
    stretch(mesh, vector(item.at), vector(item.to));
    mesh.userData.rail = item.kind === "rail";
  } else mesh = new THREE.Mesh(makers[item.kind](item), paint(item.body, item.role));
  simple.push(add(item.body, mesh));
}
const struts = motion.struts.map((item) => {
  const mesh = add(-1, new THREE.Mesh(tube(item.radius, item.radius), paint(item.far, item.role)),
    item.far < 0 ? "world" : motion.bodies[item.far].name);
  if (item.far >= 0) shown[item.far].push(mesh);
  simple.push(mesh);
  return { ...item, mesh, from: vector(item.at), to: vector(item.end), axle: vector(item.axle) };
});

/** For every corner of a triangle, the triangles whose normals it shares: those around it, but not across sharp edges. */
function creases(vertices, triangles) {
  const around = new Map(), a = new THREE.Vector3(), b = new THREE.Vector3(), c = new THREE.Vector3(), normals = [];
  const key = (n) => `${vertices[3 * n].toFixed(6)},${vertices[3 * n + 1].toFixed(6)},${vertices[3 * n + 2].toFixed(6)}`;
  const keys = Array.from({ length: vertices.length / 3 }, (_, n) => key(n));
  for (let face = 0; face < triangles.length / 3; face++) {
    [a, b, c].forEach((corner, k) => corner.fromArray(vertices, 3 * triangles[3 * face + k]));
    normals.push(b.clone().sub(a).cross(c.clone().sub(a)).normalize());
    for (let k = 0; k < 3; k++) {
      const name = keys[triangles[3 * face + k]];
      if (!around.has(name)) around.set(name, []);
      around.get(name).push(face);
    }
  }
  return Array.from(triangles, (n, corner) => {
    const own = normals[Math.floor(corner / 3)];
    return around.get(keys[n]).filter((face) => normals[face].dot(own) > CREASE);
  });
}

/** Give every triangle corners of its own where its vertices are, with normals weighted by areas. */
function shape(made, vertices, triangles, shared) {
  const position = made.attributes.position, normal = made.attributes.normal, areas = new Float32Array(triangles.length);
  const a = new THREE.Vector3(), b = new THREE.Vector3(), c = new THREE.Vector3(), sum = new THREE.Vector3();
  for (let first = 0; first < triangles.length; first += 3) {
    [a, b, c].forEach((corner, k) => {
      corner.fromArray(vertices, 3 * triangles[first + k]);
      corner.toArray(position.array, 3 * (first + k));
    });
    b.sub(a).cross(c.sub(a)).toArray(areas, first);
  }
  shared.forEach((faces, corner) => {
    sum.set(0, 0, 0);
    for (const face of faces) { sum.x += areas[3 * face]; sum.y += areas[3 * face + 1]; sum.z += areas[3 * face + 2]; }
    sum.normalize().toArray(normal.array, 3 * corner);
  });
  position.needsUpdate = normal.needsUpdate = true;
  made.boundingSphere = made.boundingBox = null;
}

function drawn(vertices, triangles) {
  return surface(vertices, triangles, creases(vertices, triangles));
}

function surface(vertices, triangles, shared) {
  const made = new THREE.BufferGeometry();
  for (const name of ["position", "normal"]) {
    made.setAttribute(name, new THREE.BufferAttribute(new Float32Array(3 * triangles.length), 3));
  }
  shape(made, vertices, triangles, shared);
  return made;
}
for (const item of motion.meshes) {
  const [r, g, b, alpha] = item.colour ?? [];
  const own = item.colour && new THREE.MeshStandardMaterial({ color: new THREE.Color(r, g, b).convertSRGBToLinear(), roughness: 0.55,
    metalness: 0.05, transparent: alpha < 1, opacity: alpha });
  const triangles = new Uint32Array(bytes(item.triangles));
  looks.push(add(item.body, new THREE.Mesh(drawn(numbers(item.vertices), triangles), own ?? paint(item.body, "body"))));
}

// -- bodies that bend -------------------------------------------------------------------------------------------------

const stressed = new THREE.MeshStandardMaterial({ vertexColors: true, roughness: 0.6, metalness: 0 });
const shades = SCALE.map((text) => colour(text).toArray());
const largest = Math.max(0, ...motion.skins.map((item) => item.largest));
const hasStress = motion.skins.some((item) => item.components) && largest > 0;
const skins = motion.skins.map((item) => {
  const rest = numbers(item.vertices), triangles = new Uint32Array(bytes(item.triangles)), shared = creases(rest, triangles);
  const geometry = surface(rest, triangles, shared);
  if (item.components) geometry.setAttribute("color", new THREE.BufferAttribute(new Float32Array(3 * triangles.length), 3));
  const mesh = add(item.body, new THREE.Mesh(geometry, paint(item.body, "body")));
  mesh.frustumCulled = false;
  simple.push(mesh);
  return { ...item, mesh, geometry, rest, triangles, shared, vertices: rest.slice(), shapes: numbers(item.shapes),
    weights: numbers(item.weights), stresses: numbers(item.stresses), loads: numbers(item.loads) };
});
let factor = motion.deformation;

/** Return the sum of fixed parts of equal size with the factors of two pictures, mixed. */
function mixed(parts, factors, size, low, high, share, into) {
  const count = size ? parts.length / size : 0;
  for (let k = 0; k < count; k++) {
    const weight = (1 - share) * factors[low * count + k] + share * factors[high * count + k];
    for (let n = 0, from = k * size; n < size; n++) into[n] += weight * parts[from + n];
  }
  return into;
}

/** Return the equivalent stress (v. Mises) of six stresses, or of a normal stress alone, from a place on. */
function equivalent(s, from, components) {
  if (components === 1) return Math.abs(s[from]);
  const [xx, yy, zz, xy, yz, zx] = s.subarray(from, from + 6);
  return Math.sqrt(((xx - yy) ** 2 + (yy - zz) ** 2 + (zz - xx) ** 2) / 2 + 3 * (xy ** 2 + yz ** 2 + zx ** 2));
}

/** Bend all flexible bodies as they are at time t. */
function bend(t) {
  const { low, high, share } = moment(t);
  bendBetween(low, high, share);
}

/** Bend all flexible bodies as they are between two pictures. */
function bendBetween(low, high, share) {
  for (const skin of skins) {
    const size = skin.rest.length, moved = mixed(skin.shapes, skin.weights, size, low, high, share, new Float32Array(size));
    for (let n = 0; n < size; n++) skin.vertices[n] = skin.rest[n] + factor * moved[n];
    shape(skin.geometry, skin.vertices, skin.triangles, skin.shared);
    if (!skin.components || !largest) continue;
    const count = size / 3, all = skin.components * count, paintwork = skin.geometry.attributes.color;
    const stress = mixed(skin.stresses, skin.loads, all, low, high, share, new Float32Array(all));
    const tones = Array.from({ length: count }, (_, n) => toneOf(equivalent(stress, n * skin.components, skin.components) / largest));
    skin.triangles.forEach((n, corner) => paintwork.array.set(tones[n], 3 * corner));
    paintwork.needsUpdate = true;
  }
}

function toneOf(part) {
  const place = Math.min(1, part) * (shades.length - 1), low = Math.min(Math.floor(place), shades.length - 2);
  return shades[low].map((value, k) => value + (place - low) * (shades[low + 1][k] - value));
}

function colourBy(what) {
  motion.bodies.forEach((body, k) => {
    const number = what === "group" ? groups.indexOf(body.group) : body.colour;
    paints[k].color.copy(colour(what === "stress" ? PALE : COLOURS[number % COLOURS.length]));
  });
  for (const skin of skins) skin.mesh.material = what === "stress" && skin.components ? stressed : paint(skin.body, "body");
  element("scale").hidden = what !== "stress";
  for (const line of traces.children) line.material.color.copy(paints[line.userData.body].color);
  makeLegend(what);
}

// -- lines: axes of bodies, traces of their ends ----------------------------------------------------------------------

const arms = { wanted: [], other: [] };
motion.bodies.forEach((body, k) => {
  for (let axis = 0; axis < motion.dim; axis++) {
    const tip = [0, 0, 0];
    tip[axis] = (body.drawn ? 0.12 : 0.25) * motion.size;
    const mesh = new THREE.Mesh(tube(0.004 * motion.size, 0.004 * motion.size), new THREE.MeshBasicMaterial({ color: colour(AXES[axis]) }));
    stretch(mesh, new THREE.Vector3(), vector(tip));
    mesh.visible = !body.drawn;
    arms[body.drawn ? "other" : "wanted"].push(mesh);
    frames[k].add(mesh);
  }
});

const traces = new THREE.Group();
traces.visible = false;
world.add(traces);

// -- poses ----------------------------------------------------------------------------------------------------------

const q0 = new THREE.Quaternion(), q1 = new THREE.Quaternion();

/** Return the pictures before and after time t, and the part of the way from one to the other. */
function moment(t) {
  let low = 0, high = times.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle; else high = middle;
  }
  return { low, high, share: Math.min(1, Math.max(0, (t - times[low]) / (times[high] - times[low] || 1))) };
}

/** Put all bodies where they are between two pictures, each an array of the poses of all bodies. */
function put(low, high, share) {
  const mix = (j) => (1 - share) * low[j] + share * high[j];
  const turned = (j) => low[j] + share * (high[j] - low[j] - 2 * Math.PI * Math.round((high[j] - low[j]) / (2 * Math.PI)));
  frames.forEach((frame, k) => {
    const j = k * wide;
    if (wide === 3) {
      frame.position.set(mix(j), mix(j + 1), 0);
      frame.rotation.set(0, 0, turned(j + 2));
    } else {
      frame.position.set(mix(j), mix(j + 1), mix(j + 2));
      q0.set(low[j + 4], low[j + 5], low[j + 6], low[j + 3]);
      q1.set(high[j + 4], high[j + 5], high[j + 6], high[j + 3]);
      frame.quaternion.copy(q0).slerp(q1, share);
    }
    frame.updateMatrix();
  });
  const at = (body, point) => (body < 0 ? point.clone() : point.clone().applyMatrix4(frames[body].matrix));
  for (const item of struts) {
    const ends = [at(item.near, item.from), at(item.far, item.to)];
    const axle = item.near < 0 ? item.axle : item.axle.clone().applyQuaternion(frames[item.near].quaternion);
    stretch(item.mesh, ...(item.winds.some(Boolean) ? tangent(item.winds, axle, ...ends) : ends));
  }
}

const picture = (k) => poses.subarray(k * frames.length * wide, (k + 1) * frames.length * wide);

/** Put all bodies where they are at time t, interpolated between two pictures. */
function place(t) {
  const { low, high, share } = moment(t);
  put(picture(low), picture(high), share);
}

/** Draw the traces of the bodies' ends through some pictures, each put in place by a call. */
function trace(calls) {
  const paths = motion.tips.map(() => []);
  for (const call of calls) {
    call();
    motion.tips.forEach(([body, point], k) => paths[k].push(vector(point).applyMatrix4(frames[body].matrix)));
  }
  motion.tips.forEach(([body], k) => {
    traces.children[k].geometry.dispose();
    traces.children[k].geometry = new THREE.BufferGeometry().setFromPoints(paths[k]);
  });
}
for (const [body] of motion.tips) {
  const line = new THREE.Line(new THREE.BufferGeometry(), new THREE.LineBasicMaterial());
  line.userData.body = body;
  line.frustumCulled = false;
  traces.add(line);
}

let first = true; // whether the camera has not looked at the mechanism yet

// -- the scene ------------------------------------------------------------------------------------------------------

const scene = new THREE.Scene();
scene.background = new THREE.Color(theme().sky); // which the renderer shows as it is
scene.add(world);
/** Return the middle of all bodies. */
function middle() {
  const sum = new THREE.Vector3();
  for (const frame of frames) sum.add(frame.position);
  return sum.divideScalar(frames.length || 1);
}
const FAR = 1.5; // way of the middle, relative to the size, from which on the camera follows what nothing holds
place(begin);
const start = middle();
const ways = Array.from({ length: SAMPLES + 1 }, (_, k) => { place(begin + (length * k) / SAMPLES); return middle().distanceTo(start); });
let follows = Math.max(...ways) > FAR * motion.size && !motion.solids.some((item) => item.body < 0 && item.kind !== "rail");
const extent = []; // corners of boxes around the solids, all along the motion, as a camera sees them that follows or not
for (let sample = 0; sample <= SAMPLES; sample++) {
  place(begin + (length * sample) / SAMPLES);
  bend(begin + (length * sample) / SAMPLES);
  world.updateMatrixWorld(true);
  const gone = follows ? middle().sub(start) : new THREE.Vector3();
  for (const frame of frames) extent.push(frame.position.clone().sub(gone));
  for (const { geometry, matrixWorld, userData } of pickable) {
    if (userData.rail) continue; // which is as long as what slides on it goes
    if (!geometry.boundingBox) geometry.computeBoundingBox();
    const { min, max } = geometry.boundingBox;
    for (let corner = 0; corner < 8; corner++) {
      const p = new THREE.Vector3(corner & 1 ? max.x : min.x, corner & 2 ? max.y : min.y, corner & 4 ? max.z : min.z);
      extent.push(p.applyMatrix4(matrixWorld).sub(gone));
    }
  }
}
place(begin);
bend(begin);
if (!extent.length) extent.push(new THREE.Vector3());
const box = new THREE.Box3().setFromPoints(extent);
const ball = box.getBoundingSphere(new THREE.Sphere());
ball.radius = Math.max(ball.radius, 0.6 * motion.size);

const lowest = up.dot(new THREE.Vector3(...["x", "y", "z"].map((k) => (up[k] > 0 ? box.min[k] : box.max[k]))));
const ground = new THREE.Group();
ground.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), up);
ground.position.copy(ball.center).addScaledVector(up, lowest - up.dot(ball.center) - 0.01 * ball.radius);
const pitch = 10 ** Math.floor(Math.log10(ball.radius)) / 2;
const tiles = 2 * Math.ceil((2 * ball.radius) / pitch);
const makeGrid = () => new THREE.GridHelper(tiles * pitch, tiles, ...theme().lines.map(colour));
let grid = makeGrid();
const floor = new THREE.Mesh(new THREE.PlaneGeometry(tiles * pitch, tiles * pitch), new THREE.ShadowMaterial({ opacity: 0.16 }));
floor.rotation.x = -Math.PI / 2;
floor.receiveShadow = true;
ground.add(grid, floor);
scene.add(ground);
const level = ground.position.clone();

const side = new THREE.Vector3(), ahead = new THREE.Vector3(); // horizontal directions
if (motion.dim === 2) ahead.set(0, 0, 1);
else {
  const names = ["x", "y", "z"], tall = names.reduce((a, b) => (Math.abs(up[b]) > Math.abs(up[a]) ? b : a));
  ahead[names[(names.indexOf(tall) + 2) % 3]] = -1;
  ahead.addScaledVector(up, -up.dot(ahead)).normalize();
}
side.copy(up).cross(ahead);
const VIEWS = {
  oblique: motion.dim === 2 ? ahead.clone().addScaledVector(side, 0.3).addScaledVector(up, 0.22)
    : ahead.clone().addScaledVector(side, 0.8).addScaledVector(up, 0.5),
  front: ahead.clone(), side: side.clone(), top: up.clone().addScaledVector(ahead, 0.001),
};

scene.add(new THREE.HemisphereLight("#ffffff", "#a8adb5", 0.95));
const sun = new THREE.DirectionalLight("#ffffff", 0.75);
sun.position.copy(ball.center).addScaledVector(up, 3 * ball.radius).addScaledVector(ahead, 1.8 * ball.radius).addScaledVector(side, 1.1 * ball.radius);
sun.target.position.copy(ball.center);
sun.castShadow = true;
sun.shadow.mapSize.set(2048, 2048);
sun.shadow.normalBias = 0.004 * ball.radius;
Object.assign(sun.shadow.camera, { left: -1.5 * ball.radius, right: 1.5 * ball.radius, top: 1.5 * ball.radius,
  bottom: -1.5 * ball.radius, near: 0.1 * ball.radius, far: 8 * ball.radius });
scene.add(sun, sun.target);

const camera = new THREE.PerspectiveCamera(30, 1, 0.01 * ball.radius, 40 * ball.radius);
camera.up.copy(up);
let renderer = null, controls = null, dirty = true;
if (frames.length) try {
  renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
} catch (error) {
  element("fault").textContent = "This browser shows no WebGL, so the mechanism is not drawn; the plots are.";
  element("fault").hidden = false;
}
if (renderer) {
  renderer.outputEncoding = THREE.sRGBEncoding;
  renderer.shadowMap.enabled = true;
  renderer.shadowMap.type = THREE.PCFSoftShadowMap;
  renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
  element("view").prepend(renderer.domElement);
  controls = new THREE.OrbitControls(camera, renderer.domElement);
  controls.addEventListener("change", () => { dirty = true; });
  renderer.domElement.addEventListener("pointermove", hover);
  renderer.domElement.addEventListener("pointerleave", () => { element("tip").hidden = true; });
}

function look(name) {
  const target = ball.center.clone().add(followed), z = VIEWS[name].clone().normalize(), x = up.clone().cross(z).normalize(), y = z.clone().cross(x);
  const tall = Math.tan((camera.fov * Math.PI) / 360) / 1.12, broad = tall * camera.aspect; // with a margin
  let away = 0;
  for (const corner of extent) { // everything is within the picture
    const p = corner.clone().sub(ball.center);
    away = Math.max(away, p.dot(z) + Math.max(Math.abs(p.dot(y)) / tall, Math.abs(p.dot(x)) / broad));
  }
  camera.position.copy(target).addScaledVector(z, Math.max(away, motion.size));
  if (controls) { controls.target.copy(target); controls.update(); }
  dirty = true;
}

const followed = new THREE.Vector3(); // how far the camera has followed

/** Move camera, light and ground after the bodies if they are followed, the ground by whole tiles. */
function follow() {
  const gone = follows ? middle().sub(start) : new THREE.Vector3(), step = gone.clone().sub(followed);
  if (!step.lengthSq()) return;
  followed.copy(gone);
  for (const item of [camera.position, sun.position, sun.target.position, ...(controls ? [controls.target] : [])]) item.add(step);
  sun.target.updateMatrixWorld();
  const local = gone.clone().applyQuaternion(ground.quaternion.clone().invert());
  const tile = new THREE.Vector3(Math.round(local.x / pitch) * pitch, 0, Math.round(local.z / pitch) * pitch);
  ground.position.copy(level).add(tile.applyQuaternion(ground.quaternion));
}

function hover(event) {
  const area = renderer.domElement.getBoundingClientRect(), ray = new THREE.Raycaster();
  const x = event.clientX - area.left, y = event.clientY - area.top;
  ray.setFromCamera({ x: (2 * x) / area.width - 1, y: 1 - (2 * y) / area.height }, camera);
  const hit = event.buttons ? null : ray.intersectObjects(pickable.filter((mesh) => mesh.visible))[0];
  element("tip").hidden = !hit;
  if (hit) {
    element("tip").textContent = hit.object.userData.label;
    element("tip").style.left = `${x + 14}px`;
    element("tip").style.top = `${y + 10}px`;
  }
}

function makeLegend(what) {
  const whole = motion.bodies.map((_, k) => k).filter((k) => motion.bodies[k].owner < 0); // without frames of flexible bodies
  const legend = element("bodies"), entries = what === "group" ? groups : whole.map((k) => motion.bodies[k].name);
  legend.replaceChildren();
  element("legend").querySelector("summary").textContent = `${what === "group" ? "mechanisms" : "bodies"}: ${entries.length}`;
  entries.forEach((name, k) => {
    const own = motion.bodies.map((body, n) => (what === "group" ? body.group === name : n === whole[k] || body.owner === whole[k]) ? n : -1).filter((n) => n >= 0);
    const button = document.createElement("button"), chip = document.createElement("i");
    chip.style.background = what === "stress" ? PALE : COLOURS[(what === "group" ? k : motion.bodies[whole[k]].colour) % COLOURS.length];
    button.append(chip, name || "others");
    button.title = "show or hide";
    button.addEventListener("click", () => {
      const off = button.classList.toggle("off");
      for (const n of own) { frames[n].visible = !off; for (const mesh of shown[n]) if (mesh.parent === world) mesh.visible = !off; }
      dirty = true;
    });
    legend.append(button);
  });
}

DARK.addEventListener("change", () => {
  scene.background = new THREE.Color(theme().sky); // which the renderer shows as it is
  ground.remove(grid);
  ground.add((grid = makeGrid()));
  dirty = true;
});

/** Show or hide meshes. */
function switchOn(meshes, on) {
  for (const mesh of meshes) mesh.visible = on;
  dirty = true;
}

/** Save data as a file. */
function download(blob, ending) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${document.title}${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

let recorder = null; // of a film, while one is taken
const RATE = 30, KIND = "video/webm"; // pictures a second

/** Begin a film of the picture, or end it and save it. */
function film() {
  if (recorder) return recorder.stop();
  const parts = [];
  recorder = new MediaRecorder(renderer.domElement.captureStream(RATE), { mimeType: KIND });
  recorder.ondataavailable = ({ data }) => parts.push(data);
  recorder.onstop = () => {
    recorder = null;
    element("film").textContent = "Film";
    download(new Blob(parts, { type: KIND }), ".webm");
  };
  recorder.start();
  element("film").textContent = "End film";
}
element("film").hidden = !(renderer && window.MediaRecorder?.isTypeSupported(KIND));

const SLOW = 25, TRIED = 1500; // ms from picture to picture, on the mean over so long, from which on they are simpler
const sharpness = (ratio) => () => { if (renderer.getPixelRatio() > ratio) { renderer.setPixelRatio(ratio); fit(); } };
const easier = [() => { sun.castShadow = floor.visible = false; }, sharpness(1), sharpness(0.5)];
const pace = { since: null, count: 0 };

/** Draw the next picture, if it has changed; a moving one without shadows, then in fewer points, where they are slow. */
function render(now, moving) {
  if (!renderer || !dirty) return;
  renderer.render(scene, camera);
  dirty = false;
  if (!moving || pace.since === null) [pace.since, pace.count] = [moving ? now : null, 0];
  else if ((pace.count += 1) > 1 && now - pace.since > TRIED) {
    if ((now - pace.since) / pace.count > SLOW) easier.shift()?.();
    [pace.since, pace.count] = [now, 0];
  }
}

/** Fit the picture to its place; the first time the camera looks at the whole. */
function fit() {
  const { clientWidth, clientHeight } = element("view");
  if (!renderer || !clientWidth || !clientHeight) return;
  renderer.setSize(clientWidth, clientHeight);
  camera.aspect = clientWidth / clientHeight;
  camera.updateProjectionMatrix();
  if (first) look("oblique");
  first = false;
  dirty = true;
}

element("scene").hidden = !frames.length;
element("camera").innerHTML = Object.keys(VIEWS).map((name) => `<option>${name}</option>`).join("");
element("camera").addEventListener("change", (event) => look(event.target.value));
element("colours").parentElement.hidden = groups.length < 2 && !hasStress;
for (const [name, there] of [["group", groups.length > 1], ["stress", hasStress]]) {
  if (!there) element("colours").querySelector(`[value=${name}]`).remove();
}
element("colours").value = hasStress ? "stress" : groups.length > 1 && !groups.includes("") ? "group" : "body"; // of mechanisms only
element("factor").parentElement.hidden = !skins.length;
element("factor").value = factor;
element("factor").addEventListener("input", (event) => {
  if (event.target.checkValidity() && event.target.value) { factor = Number(event.target.value); show(); }
});
element("scale").querySelector("b").textContent = `${short(largest / 1e6)} MPa`;
element("scale").querySelector("i").style.background = `linear-gradient(to right, ${SCALE})`;
element("colours").addEventListener("change", (event) => { colourBy(event.target.value); dirty = true; });
element("traces").addEventListener("change", (event) => switchOn([traces], event.target.checked));
element("shapes").addEventListener("change", (event) => switchOn([...simple, ...looks], event.target.checked));
element("follow").checked = follows;
element("follow").addEventListener("change", (event) => { follows = event.target.checked; follow(); dirty = true; });
element("axes").addEventListener("change", (event) => switchOn(arms.other, event.target.checked));
colourBy(element("colours").value);
