/** The table of settings in docs/operating.md. */
import { SETTINGS } from '../../src/boot/config.ts'
import { table } from './table.ts'

export const settingsTable = (): string =>
  table(
    ['Setting', 'Description', 'Default'],
    Object.entries(SETTINGS).map(([key, setting]) => [
      `\`${key}\``,
      setting.description,
      setting.default ?? '',
    ]),
  )
