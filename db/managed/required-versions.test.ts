import { expect, test } from 'vitest'
import { isPgvectorSupported } from './required-versions.ts'

test.each(['0.8.0', '0.8', '0.8.6', '0.10.0', '1.0.0', '10.0'])('pgvector %s is new enough', (version) => {
  expect(isPgvectorSupported(version)).toBe(true)
})

test.each(['0.7.4', '0.5', '', '0', 'latest', '0.8.0; drop', '-1.9'])('pgvector %j is not', (version) => {
  expect(isPgvectorSupported(version)).toBe(false)
})
