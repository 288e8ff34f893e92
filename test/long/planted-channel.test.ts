/** A channel that somebody only adds to the table: the compiler names every place that it still needs. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../repository/source-tree.ts'

const SOURCES = ['src', 'mcp', 'oauth', 'db', 'tsconfig.json', 'package.json', 'skills']

test.each(['integration', 'person'] as const)(
  'a channel whose recipient is %s does not compile by its row alone',
  (recipient) => {
    const copy = mkdtempSync(join(tmpdir(), 'svc-channel-'))
    try {
      for (const path of SOURCES) cpSync(join(ROOT, path), join(copy, path), { recursive: true })
      symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
      const tsconfig = JSON.parse(readFileSync(join(copy, 'tsconfig.json'), 'utf8')) as object
      const product = { ...tsconfig, include: ['src', 'mcp', 'oauth', 'db'], exclude: ['**/*.test.ts'] }
      writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify(product))
      const file = join(copy, 'src/contracts/channels.ts')
      const row = `export const CHANNELS = {
  sms: { label: 'SMS', recipients: ['${recipient}'], verifiesAddress: false, rate: { perSecond: 1, burst: 1 }, sharedServer: false, retrySeconds: [], repeatable: 'never', digest: false, itemsMax: 1 },`
      writeFileSync(file, readFileSync(file, 'utf8').replace('export const CHANNELS = {', row))
      const places = placesWithErrors(copy)
      expect(places).not.toContain('src/contracts/channels.ts')
      expect(places).toEqual(
        expect.arrayContaining([
          'src/boot/channel-adapters.ts',
          'src/cores/notifications/channels/channel-drivers.ts',
          'src/cores/notifications/channels/channel-ports.ts',
          ...(recipient === 'integration' ? ['src/console/pages/integrations/integration-labels.ts'] : []),
        ]),
      )
      console.log(`A channel (${recipient}) still needs: ${places.join(', ')}`)
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
  },
)

function placesWithErrors(folder: string): string[] {
  const { stdout } = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), { cwd: folder, encoding: 'utf8' })
  const places = stdout.split('\n').flatMap((line) => /^(\S+?)\(\d+,\d+\): error/.exec(line)?.[1] ?? [])
  return [...new Set(places)].toSorted()
}
