"""Programs: servers and frameworks whose own shutdown shows in the manifests."""
