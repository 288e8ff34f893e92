/** Cookies travel with requests that other sites cause, so a request that changes something must come from our own pages. */

export function isSameOrigin(headers: Headers, appUrl: URL): boolean {
  const origin = headers.get('origin')
  if (origin && origin !== 'null') return origin === appUrl.origin
  // Privacy settings turn Origin into `null` or drop it; Sec-Fetch-Site cannot be set by a page.
  return headers.get('sec-fetch-site') === 'same-origin'
}
