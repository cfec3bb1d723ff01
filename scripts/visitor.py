"""Somebody who uses the pages: follows links and presses buttons, by plain HTTP."""

from __future__ import annotations

import html
import http.cookiejar
import re
import urllib.error
import urllib.parse
import urllib.request

TIMEOUT_S = 30.0


class NotThere(Exception):
    """The page has no such link or button, or the server refused what was sent."""


class Visitor:
    """A signed-in person at ``base``; cookies are kept from page to page."""

    def __init__(self, base: str) -> None:
        self.base = base
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(cookies)
        self.address, self.page = base, ""

    @property
    def text(self) -> str:
        """The page as it is read, without its tags."""
        return html.unescape(re.sub(r"<[^>]*>", "", self.page))

    def open(self, address: str) -> None:
        self._ask(urllib.request.Request(self._whole(address)))

    def follow(self, words: str) -> None:
        """Open the link whose address or text holds ``words``."""
        for address, text in re.findall(r'<a [^>]*href="([^"]*)"[^>]*>(.*?)</a>', self.page, re.S):
            if words in html.unescape(address) or words in html.unescape(text):
                self.open(html.unescape(address))
                return
        raise NotThere(f"{self.address} has no link “{words}”.")

    def press(self, words: str) -> None:
        """Send the form whose button says ``words``, with the fields that it hides."""
        for form in re.findall(r"<form.*?</form>", self.page, re.S):
            if re.search(rf"<button[^>]*>[^<]*{re.escape(words)}", form):
                self._send(form)
                return
        raise NotThere(f"{self.address} has no button “{words}”.")

    def _send(self, form: str) -> None:
        told = [_attributes(tag) for tag in re.findall(r"<input[^>]*>", form)]
        fields = {each["name"]: each.get("value", "") for each in told if "name" in each}
        address = _attributes(form[: form.index(">") + 1]).get("action") or self.address
        data = urllib.parse.urlencode(fields).encode()
        headers = {"Referer": self.address}
        self._ask(urllib.request.Request(self._whole(address), data, headers))

    def _whole(self, address: str) -> str:
        return urllib.parse.urljoin(f"{self.base}/", address)

    def _ask(self, request: urllib.request.Request) -> None:
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                self.address, self.page = answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            raise NotThere(f"{request.full_url} answered {error.code}.") from error


def _attributes(tag: str) -> dict[str, str]:
    return {name: html.unescape(value) for name, value in re.findall(r'([\w-]+)="([^"]*)"', tag)}
