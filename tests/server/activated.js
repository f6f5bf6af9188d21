"use strict";
// Activates the extension in a VS Code that is only a stub, with a client that only speaks to the server: node
// activated.js EXTENSION COMMAND FILE, the command as JSON. Prints as JSON what came of it.

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const Module = require("node:module");
const { pathToFileURL } = require("node:url");

const [extension, command, file] = process.argv.slice(2);
const seen = { registered: [], shown: [], started: 0, stopped: 0, diagnostics: [], selector: [], watched: [] };
const handlers = {};

class LanguageClient {
  constructor(id, name, server, options) {
    Object.assign(this, { server, options, number: 0, waiting: new Map(), buffer: Buffer.alloc(0) });
    seen.selector = options.documentSelector.map((one) => one.language);
  }

  send(method, params, id) {
    const text = JSON.stringify({ jsonrpc: "2.0", method, params, ...(id === undefined ? {} : { id }) });
    this.process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  ask(method, params) {
    const id = ++this.number;
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
      this.send(method, params, id);
    });
  }

  read(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const head = this.buffer.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(this.buffer.subarray(0, head))[1]);
      if (this.buffer.length < head + 4 + length) return;
      const message = JSON.parse(this.buffer.subarray(head + 4, head + 4 + length));
      this.buffer = this.buffer.subarray(head + 4 + length);
      if (message.method === "textDocument/publishDiagnostics") this.found(message.params.diagnostics);
      else if (message.method !== undefined && message.id !== undefined) this.reply(message.id);
      else if (this.waiting.has(message.id)) this.waiting.get(message.id)(message.result);
    }
  }

  reply(id) {
    const text = JSON.stringify({ jsonrpc: "2.0", id, result: null });
    this.process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  async start() {
    this.process = spawn(this.server.command, this.server.args, { stdio: ["pipe", "pipe", "inherit"] });
    await new Promise((resolve, reject) => {
      this.process.once("spawn", resolve);
      this.process.once("error", reject);
    });
    this.process.stdout.on("data", (data) => this.read(data));
    await this.ask("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
    this.send("initialized", {});
    const found = new Promise((resolve) => { this.found = resolve; });
    const uri = pathToFileURL(file).href;
    const textDocument = { uri, languageId: "ptx", version: 1, text: fs.readFileSync(file, "utf8") };
    this.send("textDocument/didOpen", { textDocument });
    seen.diagnostics = (await found).map((one) => one.code);
    seen.started += 1;
  }

  async dispose() {
    if (this.number === 0) throw new Error("Client is not running and can't be stopped");
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    await this.ask("shutdown", null);
    this.send("exit");
    await ended;
    seen.stopped += 1;
  }
}

const vscode = {
  workspace: {
    getConfiguration: () => ({ get: () => JSON.parse(command) }),
    createFileSystemWatcher: (pattern) => seen.watched.push(pattern),
    onDidChangeConfiguration: () => ({}),
  },
  window: { showErrorMessage: (message) => seen.shown.push(message) },
  commands: {
    registerCommand: (name, handler) => {
      seen.registered.push(name);
      handlers[name] = handler;
      return {};
    },
  },
};

const load = Module._load;
Module._load = (name, ...rest) => {
  if (name === "vscode") return vscode;
  return name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);
};

(async () => {
  const { activate, deactivate } = require(extension);
  const context = { subscriptions: [] };
  await activate(context);
  await handlers["tileproof.restart"]();
  await deactivate();
  seen.subscriptions = context.subscriptions.length;
  console.log(JSON.stringify(seen));
})();
