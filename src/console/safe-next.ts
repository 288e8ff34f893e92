/** Where to go after sign-in: a page of the console and nothing else, whatever the address says. */

export const HOME = '/console'
/** What the listener shows people who open an address that is none. */
export const NOT_FOUND_PAGE = '/console/not-found'
/** The event stream of open pages. */
export const CHANGES = '/console/changes'

/** Pages that would send a person round in circles. */
const NOT_A_DESTINATION = /^\/console\/(sign-in|sign-out|signed-out|assets|changes)(\/|$)/

export function safeNext(next: string | undefined, appUrl: URL): string {
  if (!next || next.length > 2000) return HOME
  // Browsers read `\` as `/` and drop tabs and newlines, so `/\evil.example` would leave this origin.
  if (!/^\/console(?:[/?]|$)/.test(next) || /[\\\p{Cc}]/u.test(next)) return HOME
  if (next.split('?')[0]?.includes('//')) return HOME
  const url = URL.parse(next, appUrl.origin)
  if (!url || url.origin !== appUrl.origin) return HOME
  // After resolving `..`: what counts is where the browser would arrive.
  if (!/^\/console(?:\/|$)/.test(url.pathname) || NOT_A_DESTINATION.test(url.pathname)) return HOME
  return url.pathname + url.search
}
