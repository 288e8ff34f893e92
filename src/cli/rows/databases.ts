/** `svc db …` and `svc datasource …`, where they do more than one call. */
import { LOAD_TYPES } from '../../contracts/load-formats.ts'
import type { Argument, HandWritten } from '../command.ts'
import { YES } from './shared.ts'

const DATABASE: Argument = { name: 'name', summary: 'From `svc db list`, without db_', values: 'databases' }

export const DATABASE_ROWS: readonly HandWritten[] = [
  {
    path: 'datasource eval',
    summary: 'Ask questions whose answers are known, and see which are found (developer or higher)',
    arguments: [
      { name: 'source_id', summary: 'db_… or ds_…, from `svc datasource list`', values: 'sources' },
      { name: 'file', summary: 'Questions and the rows expected, as YAML or JSON' },
    ],
    options: [{ long: 'set-threshold', summary: 'Mark answers below what was found as weak from now on' }],
    listedBy: 'datasource list',
    examples: [
      'svc datasource eval db_handbook questions.yaml',
      'svc datasource eval db_handbook questions.yaml --set-threshold --json',
    ],
    load: async () => (await import('../commands/eval.ts')).evaluateDataSource,
  },
  {
    path: 'db connect',
    options: [{ long: 'quiet', short: 'q', summary: 'Print only the connection string' }],
    load: async () => (await import('../commands/db.ts')).connectDatabase,
  },
  {
    path: 'db loads',
    options: [{ long: 'cancel', value: 'load_id', summary: 'End this one, and delete what it staged' }],
    load: async () => (await import('../commands/load.ts')).loads,
  },
  {
    path: 'db psql',
    summary: 'Open psql on a database; the password is not visible to other users',
    arguments: [DATABASE, { name: 'arguments', summary: 'For psql', optional: true, rest: true }],
    listedBy: 'db list',
    examples: ['svc db psql handbook', 'svc db psql handbook -- -At -c "select count(*) from handbook"'],
    load: async () => (await import('../commands/psql.ts')).openPsql,
  },
  {
    path: 'docs sync',
    summary:
      'Bring a documents source to the files of a folder: sends what has changed; the same command continues it',
    arguments: [DATABASE, { name: 'folder', summary: 'With .md, .html, .txt, .pdf and .docx files' }],
    options: [
      { long: 'git', summary: 'Only files that git tracks' },
      { long: 'keep', summary: 'Keep documents whose files are gone' },
    ],
    listedBy: 'db list',
    examples: ['svc docs sync handbook ./docs', 'svc docs sync handbook . --git --keep'],
    load: async () => (await import('../commands/docs.ts')).syncDocuments,
  },
  {
    path: 'docs undo',
    summary: 'Bring the version before of a documents source back, within seven days',
    arguments: [DATABASE],
    listedBy: 'db list',
    examples: ['svc docs undo handbook'],
    load: async () => (await import('../commands/docs.ts')).undoDocuments,
  },
  {
    path: 'db load',
    summary:
      'Load a CSV, NDJSON, JSON, XLSX or Parquet file into a new table, with embeddings and indexes; the same command continues it',
    arguments: [DATABASE, { name: 'file', summary: '.csv with a header, .ndjson, .json, .xlsx or .parquet' }],
    options: [
      {
        long: 'embed',
        value: 'column',
        summary: 'Column whose meaning is searched (default: none, then words and filters only)',
        repeatable: true,
      },
      {
        long: 'type',
        value: 'column=type',
        summary: `Type of a column (default: as all values fit): ${Object.keys(LOAD_TYPES).join(', ')}`,
        repeatable: true,
      },
      { long: 'preview', summary: 'Load nothing; print the columns with their types, and the sheets' },
      { long: 'sheet', value: 'name', summary: 'Of an XLSX file (default: the first)' },
      { long: 'delimiter', value: 'character', summary: 'Of a CSV file (default: as its header shows)' },
      { long: 'id', value: 'column', summary: 'Column with unique values (default: the number of the row)' },
      { long: 'title', value: 'column', summary: 'Title of a hit (default: the first other column)' },
      { long: 'filter', value: 'column', summary: 'Column to filter by', repeatable: true },
      { long: 'table', value: 'name', summary: 'Default: the name of the database' },
      { long: 'append', summary: 'Add the rows to a table that was loaded before' },
      { long: 'upsert', summary: 'By the id: change the rows that the table has, and add the others' },
      { long: 'delete-missing', summary: 'With --upsert: delete the rows that the file does not have' },
      { long: 'replace', summary: 'Put the file in the place of a table that was loaded before' },
      { long: 'dry-run', summary: 'Change nothing; print the numbers of new, changed and gone rows' },
      { long: 'save', summary: 'Save the search configuration, too' },
      {
        long: 'expose',
        summary: 'Save it, turn the source on and let assistants ask it (admin or higher); asks first',
      },
      YES,
      { long: 'model', value: 'name', summary: 'Embedding model (default: the built-in one)' },
      { long: 'language', value: 'name', summary: 'Language of the text, such as german (default: english)' },
    ],
    listedBy: 'db list',
    examples: [
      'svc db load handbook staff.csv --id number --title name --embed description --save',
      'svc db load handbook staff.csv --embed description --expose',
      'svc db load handbook staff.xlsx --sheet 2026 --preview',
      'svc db load handbook staff.xlsx --sheet 2026 --type since=date_dmy --id number --save',
      'svc db load handbook new.ndjson --id number --embed description --append',
      'svc db load handbook staff.csv --id number --embed description --upsert --delete-missing --dry-run',
    ],
    load: async () => (await import('../commands/load.ts')).loadFile,
  },
  {
    path: 'db reload',
    summary:
      'Load the file of a table again, with the same choices: replaces it, or changes its rows as the last load did',
    arguments: [
      DATABASE,
      { name: 'file', summary: 'Default: the one that was loaded from this machine last', optional: true },
    ],
    options: [
      { long: 'table', value: 'name', summary: 'Default: the table that was loaded last' },
      { long: 'dry-run', summary: 'Change nothing; print the numbers of new, changed and gone rows' },
    ],
    listedBy: 'db list',
    examples: ['svc db reload handbook', 'svc db reload handbook ./staff.csv --table staff --dry-run'],
    load: async () => (await import('../commands/load.ts')).reload,
  },
  {
    path: 'db undo',
    summary: 'Bring the version of a table before its last load back, within seven days',
    arguments: [DATABASE],
    options: [
      { long: 'table', value: 'name', summary: 'Default: the table that was loaded last' },
      { long: 'redo', summary: 'Bring what was undone back again' },
    ],
    listedBy: 'db list',
    examples: ['svc db undo handbook', 'svc db undo handbook --table staff --redo'],
    load: async () => (await import('../commands/load.ts')).undo,
  },
]
