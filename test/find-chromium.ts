/**
 * Where a Chromium for the browser tests may lie: the one that was named, or one that Debian installs; of two the one without
 * windows of its own, which is the same engine for less.
 */
import { existsSync, globSync } from 'node:fs'

export function findChromium(named = process.env['CHROMIUM_PATH']): string | undefined {
  if (named) return existsSync(named) ? named : undefined
  const installed = globSync('/usr/bin/chromium*').toSorted()
  return installed.find((path) => path.endsWith('-headless-shell')) ?? installed[0]
}
