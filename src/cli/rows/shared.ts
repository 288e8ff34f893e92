/** Options and arguments that several hand-written commands have. */
import type { Argument, Option } from '../command.ts'

export const YES: Option = { long: 'yes', short: 'y', summary: 'Skip the confirmation prompt' }
export const APP: Argument = { name: 'app', summary: 'Alias, from `svc apps list`', values: 'apps' }
