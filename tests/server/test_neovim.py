"""Neovim with the configuration of docs/editors.md: it shows a finding, and applies a fix."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.editor import PATIENCE
from tests.server.test_server import POD

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
vim.cmd("edit pod.yaml")
local function shown() return vim.diagnostic.get(0) end
assert(vim.wait(%d, function() return #shown() > 0 end, 50), "no finding was shown")
local found = {}
for _, each in ipairs(shown()) do table.insert(found, {code = each.code, line = each.lnum}) end
local place = {line = 9, character = 0}
local params = {
  textDocument = vim.lsp.util.make_text_document_params(),
  range = {start = place, ["end"] = place},
  context = {diagnostics = {}},
}
local answers = vim.lsp.buf_request_sync(0, "textDocument/codeAction", params, %d)
for _, answer in pairs(answers) do
  for _, action in ipairs(answer.result or {}) do
    if action.title:find("^SL102: set") then
      vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
    end
  end
end
local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n")
vim.fn.writefile({vim.json and vim.json.encode({found = found, text = text})}, "seen.json")
vim.cmd("qall!")
"""


def test_the_written_configuration(tmp_path: Path) -> None:
    if shutil.which("nvim") is None:
        pytest.skip("nvim is not installed")
    page = (ROOT / "docs/editors.md").read_text()
    found = re.search(r"<!-- neovim -->\n```lua\n(.*?)```", page, re.DOTALL)
    assert found is not None
    (tmp_path / "init.lua").write_text(found[1])
    wait = PATIENCE * 1000
    (tmp_path / "act.lua").write_text(SCRIPT % (wait, wait))
    (tmp_path / "pod.yaml").write_text(POD)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    words = ["nvim", "--headless", "-u", "init.lua", "-c", "luafile act.lua"]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env=os.environ | {"PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        check=False,
        timeout=2 * PATIENCE,
    )
    assert (tmp_path / "seen.json").exists(), done.stderr.decode()
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert {"code": "SL102", "line": 9} in seen["found"]
    assert seen["text"] != POD.rstrip("\n")
    assert "terminationGracePeriodSeconds: 20\n" not in seen["text"]
