/**
 * Characters that are not seen, or make others stand elsewhere: the one list behind what the scanner of proposals flags, and
 * what pages and the client show by its code. Plain: the client `svc` loads this file and no zod.
 */

/**
 * Controls but the tab, formats, what fonts may ignore (fillers, variation selectors, tags), separators of lines, private and
 * broken characters, every blank but the ordinary one, and the empty Braille pattern. Global, for `matchAll`, `replaceAll`
 * and `search`: with `test` it would remember where it was.
 */
export const INVISIBLE =
  /[^\P{Cc}\t]|[\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|[^\P{Zs} ]/gu

/** `U+202E` */
export const codeOf = (character: string): string =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
