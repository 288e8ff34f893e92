/** docs/troubleshooting.md names sentences that the program really says. */
import { expect, test } from 'vitest'
import { filesUnder, readText } from './source-tree.ts'

const page = readText('docs/troubleshooting.md')
const symptoms = page
  .split('\n')
  .filter((line) => /^\| (?!What you see|---)/.test(line))
  .map((line) => line.split(' | ')[0]!.slice(2))
/** Sentences, not names: those have a space. */
const quoted = symptoms.flatMap((cell) =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!).filter((text) => text.includes(' ')),
)
const sources = ['src', 'db', 'bin', 'mcp', 'oauth']
  .flatMap((folder) => filesUnder(folder))
  .filter((path) => !path.endsWith('.test.ts') && /\.ts$|^bin\/server$/.test(path))
  .map((path) => readText(path))
  .join('\n')

test('there are twenty and more', () => {
  expect(symptoms.length).toBeGreaterThanOrEqual(20)
  expect(quoted.length).toBeGreaterThanOrEqual(15)
})

test.each(quoted)('%s', (text) => {
  // `…` stands for what differs, and the first part of `JWT_SECRET: required by` is the name of a setting.
  const parts = text
    .replace(/^JWT_SECRET: /, '… ')
    .split('…')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  for (const part of parts)
    expect(sources.includes(part) || sources.includes(withBraces(part)), part).toBe(true)
})

/** As it stands in a template. */
const withBraces = (part: string): string => part.replace('0.1.0', '${FIRST_VERSION}')
