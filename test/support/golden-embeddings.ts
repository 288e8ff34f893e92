/** Texts of many scripts with the vectors that everything stored was embedded with (bench/golden-embeddings.mjs). */
import { readFileSync } from 'node:fs'

export type Golden = { readonly text: string; readonly vector: Float32Array }

/** What a vector of ours may differ by: then nothing stored is stale. */
export const COSINE_MIN = 0.9999

export const readGolden = (): Golden[] =>
  readFileSync(new URL('../golden/embeddings.ndjson', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const { text, vector } = JSON.parse(line) as { text: string; vector: string }
      return {
        text,
        vector: Float32Array.from(new Float16Array(Uint8Array.from(Buffer.from(vector, 'base64')).buffer)),
      }
    })

export function cosine(a: Float32Array, b: Float32Array): number {
  let [both, ofA, ofB] = [0, 0, 0]
  for (const [at, number] of a.entries()) {
    both += number * b[at]!
    ofA += number ** 2
    ofB += b[at]! ** 2
  }
  return both / Math.sqrt(ofA * ofB)
}
