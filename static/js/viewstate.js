// The page's state stands in its address and stays there; what is not ours in it is left alone.

/** The page's address with parameters written, or taken out where their value is "". */
export function addressWith(told) {
  const address = new URL(location.href);
  for (const [name, value] of Object.entries(told)) {
    if (value === "") address.searchParams.delete(name);
    else address.searchParams.set(name, value);
  }
  // "~" between arms needs no escape, and a shared address stays readable
  return address.pathname + address.search.replaceAll("%7E", "~") + address.hash;
}

/** Write one parameter, or take it out where its value is "". */
export function settle(name, value) {
  history.replaceState(history.state, "", addressWith({ [name]: value }));
}
