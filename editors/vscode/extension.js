"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const [command, ...args] = vscode.workspace.getConfiguration("tileproof").get("command");
  const watched = vscode.workspace.createFileSystemWatcher("**/{tileproof.toml,pyproject.toml,*.rule}");
  client = new LanguageClient(
    "tileproof",
    "tileproof",
    { command, args },
    {
      documentSelector: [{ language: "mlir" }, { language: "ptx" }],
      synchronize: { fileEvents: watched },
      markdown: { isTrusted: false, supportHtml: false },
    },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined; // one that did not start cannot be stopped
    vscode.window.showErrorMessage(
      `tileproof: '${[command, ...args].join(" ")}' does not start (${error.message}). ` +
        "Install it with: pip install 'tileproof[lsp]', or set tileproof.command.",
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running !== undefined) {
    await running.dispose();
  }
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("tileproof.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("tileproof.command")) {
        void restart();
      }
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
