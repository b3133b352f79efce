"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

/** Start the server in the first folder of the workspace. */
async function activate() {
  const folder = vscode.workspace.workspaceFolders?.[0];
  const settings = vscode.workspace.getConfiguration("shutdownlint");
  const server = {
    command: settings.get("command"),
    args: ["server", ...settings.get("arguments")],
    options: { cwd: folder?.uri.fsPath },
  };
  const documents = ["yaml", "json", "toml"].map((language) => ({ scheme: "file", language }));
  client = new LanguageClient("shutdownlint", server, {
    documentSelector: documents,
    workspaceFolder: folder,
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.{yaml,yml,json,toml}") },
  });
  try {
    await client.start();
  } catch (error) {
    const advice = "pip install 'shutdownlint[server]', or set shutdownlint.command";
    vscode.window.showErrorMessage(`shutdownlint cannot be started: ${error.message}. ${advice}`);
  }
}

/** End the server. */
async function deactivate() {
  await client?.stop();
}

module.exports = { activate, deactivate };
