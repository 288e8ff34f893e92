/** What was embedded of the sample, in the order of the vectors: the handbook, then the products. */
import { createHash } from 'node:crypto'
import { readSample } from '../src/sample/read-sample.ts'

export function sampleTexts(): string[] {
  const { handbook, products } = readSample()
  return [
    ...handbook.map(({ title, text }) => `${title}. ${text}`),
    ...products.map(({ name, category, description }) => `${name} (${category}). ${description}`),
  ]
}

export const textDigest = (texts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(texts)).digest('hex')
