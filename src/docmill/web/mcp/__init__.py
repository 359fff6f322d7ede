"""The MCP server: tools by which an assistant, a program with a language model, works with a vault.

The tools know nothing of the protocol: `tool_registry` lists them, `protocol_server` offers them by the SDK
of the Model Context Protocol, `http_endpoint` serves that at /mcp, and `docmill mcp` on standard input and
output.
"""
