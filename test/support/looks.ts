/** The looks in which pages are examined. Colors and width do not touch each other, so two looks hold all four. */
import type { BrowserContextOptions } from 'playwright-core'

export const LOOKS: Record<'light, wide' | 'dark, 320 pixels', BrowserContextOptions> = {
  'light, wide': { colorScheme: 'light', viewport: { width: 1280, height: 860 } },
  'dark, 320 pixels': { colorScheme: 'dark', viewport: { width: 320, height: 640 } },
}
