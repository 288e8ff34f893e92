import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { kernelFile } from '../../scripts/generated/kernel.ts'

test('kernel.wasm is what kernel.as compiles to, byte by byte', async () => {
  const committed = readFileSync(new URL('../../src/adapters/embeddings/kernel.wasm', import.meta.url))
  expect((await kernelFile()).equals(committed), 'run: npm run generate').toBe(true)
})
