import { expect, test } from 'vitest'
import { byteSize } from './byte-size.ts'

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1 KiB'],
  [1536, '1.5 KiB'],
  [256 * 1024, '256 KiB'],
  [50 * 1024 * 1024, '50 MiB'],
  [1024 ** 3, '1 GiB'],
  [5 * 1024 ** 4, '5120 GiB'],
])('%i bytes are %s', (bytes, shown) => expect(byteSize(bytes)).toBe(shown))
