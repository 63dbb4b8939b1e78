"""The audit room: pages on which a person checks a judge. Each page is a module; `site` lists them."""
