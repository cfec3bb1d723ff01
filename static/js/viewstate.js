// The page's state stands in its address and stays there; what is not ours in it is left alone.

/** Write one parameter, or take it out where its value is "". */
export function settle(name, value) {
  const address = new URL(location.href);
  if (value === "") address.searchParams.delete(name);
  else address.searchParams.set(name, value);
  // "~" between arms needs no escape, and a shared address stays readable
  history.replaceState(history.state, "", address.pathname + address.search.replaceAll("%7E", "~") + address.hash);
}
