/** A page as it is sent. */
import { transcode } from 'node:buffer'
import type { Html } from './parts.ts'

export const PAGE_TYPE = 'text/html; charset=UTF-8'

/**
 * By way of UTF-16: as UTF-8 Node counts and then writes a text letter by letter, and for a long list that takes a quarter of
 * all that is done to show it.
 */
export async function pageBytes(page: Html): Promise<Uint8Array<ArrayBuffer>> {
  const text = String(await page).toWellFormed()
  return transcode(Buffer.from(text, 'utf16le'), 'utf16le', 'utf8')
}
