/** Where a Chromium for the browser tests may lie: the one that was named, or the one Debian installs. */
import { existsSync, globSync } from 'node:fs'

export function findChromium(named = process.env['CHROMIUM_PATH']): string | undefined {
  if (named) return existsSync(named) ? named : undefined
  return globSync('/usr/bin/chromium*').toSorted()[0]
}
