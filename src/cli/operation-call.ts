/** Commands as the contracts of their operations declare them: plain data, made by `npm run generate`. */
import type { Note } from '../contracts/command.ts'
import type { Command } from './command.ts'
import type { REQUESTS } from './requests.ts'

/** What is shown, by its heading. */
export type Cells = Readonly<Record<string, string>>

/** What it sends and prints. */
export type OperationCall = {
  readonly operation: keyof typeof REQUESTS
  /** Its `org_id` is the organization of the login. */
  readonly ofOrganization?: true
  readonly always?: Readonly<Record<string, unknown>>
  readonly atLeastOne?: { readonly problem: string; readonly hint: string }
  readonly confirm?: string
  readonly done?: string
  /** The field of the answer that has the rows of the table; left out, the answer is the only one. */
  readonly rows?: string
  readonly pages?: true
  readonly table?: Cells
  readonly fields?: Cells
  readonly notes?: readonly Note[]
  readonly format?: 'yaml'
}

export type Declared = { readonly command: Command; readonly call: OperationCall }
