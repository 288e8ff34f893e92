/** Which files are documents, by their names. Plain, for the client too. */

/** Their order is that in which people are told of them. */
const DOCUMENT_FORMATS = {
  markdown: ['md', 'markdown'],
  html: ['html', 'htm'],
  text: ['txt'],
  pdf: ['pdf'],
  docx: ['docx'],
} as const
export type DocumentFormat = keyof typeof DOCUMENT_FORMATS

const BY_EXTENSION = new Map<string, DocumentFormat>(
  Object.entries(DOCUMENT_FORMATS).flatMap(([format, extensions]) =>
    extensions.map((extension) => [extension, format as DocumentFormat] as const),
  ),
)

/** Undefined: it is not read. */
export const documentFormatOf = (path: string): DocumentFormat | undefined =>
  BY_EXTENSION.get(/\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? '')

/** Who sees the documents of its folder and below; no document itself. */
export const isAccessFile = (path: string): boolean => /(?:^|\/)access\.yaml$/.test(path)

/** Meant as one, and not taken for one unless it has the very name: never left out in silence, or its folder would be open. */
export const isMeantAsAccessFile = (path: string): boolean => /(?:^|\/)access\.ya?ml$/i.test(path)

/** For people who wonder why a file was left out. */
export const DOCUMENT_EXTENSIONS = [...BY_EXTENSION.keys()].map((extension) => `.${extension}`).join(', ')
