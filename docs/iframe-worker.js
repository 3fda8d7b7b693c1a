// Search in pages that are opened as files: browsers make no worker of a file, so its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(path) {
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.frame = frame;
      this.inside = new Promise((ready, failed) => {
        frame.onload = () => {
          frame.onload = null;
          const inside = frame.contentWindow;
          inside.postMessage = (data) => setTimeout(() => this.onmessage && this.onmessage({ data }));
          const script = inside.document.createElement("script");
          script.onload = () => ready(inside);
          script.onerror = failed;
          script.src = new URL(path, location);
          inside.document.head.append(script);
        };
      });
      this.inside.catch((error) => this.onerror && this.onerror(error));
      document.body.append(frame);
    }

    postMessage(data) {
      this.inside.then((inside) => inside.onmessage({ data: structuredClone(data) }), () => {});
    }

    terminate() {
      this.frame.remove();
    }
  };
}
