/** What people wrote, reduced to what may stand in a mail: one line, cut, and nothing that a mail program makes a link of. */

const NAME_MAX = 40
/** Dots, slashes, colons and at signs make addresses; dot-like characters of other scripts do so too. */
const NOT_IN_NAMES = /[^\p{L}\p{M}\p{N} '’&,()-]/gu
/** Seven digits or more are a phone number, which mail programs offer to call. */
const PHONE_NUMBER = /\p{N}(?:[ ,()-]*\p{N}){6,}/gu

/** Of an organization or a person, also for readers who do not know us. */
export function nameInMail(name: string): string {
  const plain = name.normalize('NFKC').replaceAll(NOT_IN_NAMES, ' ').replaceAll(PHONE_NUMBER, ' ')
  return cutTo(NAME_MAX, plain) || 'unnamed'
}

const TITLE_MAX = 120
/** Beside letters and digits what titles are written with, and nothing that turns the direction of a line. */
const NOT_IN_TITLES = /[^\p{L}\p{M}\p{N}\p{Sc} '’"“”&,()!?;:.+#%*=…–—/[\]_-]/gu
/** What links are recognized by: a scheme, two slashes, an at sign, or a dot or colon inside a word. */
const IN_LINKS = /\/{2,}|:(?=\S)|(?<=[^\s\p{N}])\.(?=[^\s.])|\.(?=[\p{L}\p{M}/])/gu
/** An address of the network: a version such as 1.2 is none. */
const DOTTED_NUMBERS = /\p{N}+(?:\.\p{N}+){2,}/gu

/** Of a ticket, for readers who may see it: readable, but no address in it can be followed. */
export function titleInMail(title: string): string {
  const plain = title
    .normalize('NFKC')
    .replaceAll(NOT_IN_TITLES, ' ')
    .replaceAll(IN_LINKS, ' ')
    .replaceAll(DOTTED_NUMBERS, (numbers) => numbers.replaceAll('.', ' '))
  return cutTo(TITLE_MAX, plain) || 'untitled'
}

function cutTo(max: number, text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  const characters = [...new Intl.Segmenter().segment(line)].map(({ segment }) => segment)
  return characters.length > max ? `${characters.slice(0, max).join('').trim()}…` : line
}
