/** Every setting with what it is for and what holds without it, as docs/operating.md shows them. */
import { SETTINGS } from '../../src/config.ts'
import { table } from './table.ts'

export const settingsTable = (): string =>
  table(
    ['Setting', 'What it is for', 'Without it'],
    Object.entries(SETTINGS).map(([key, setting]) => [
      `\`${key}\``,
      setting.says,
      'default' in setting ? setting.default : '',
    ]),
  )
