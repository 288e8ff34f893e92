/** The slug of an organization: its name in the letters of an address. */

/** Compatibility decomposition splits accents off, so that "Café Zürich" becomes cafe-zurich. */
export function slugOf(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 48)
    .replace(/-+$/, '')
  // A name in another script leaves nothing to spell; the number behind it makes it unique.
  return slug || 'org'
}
