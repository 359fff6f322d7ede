"""Image files: loading within limits, preprocessing before recognition, QR codes."""
