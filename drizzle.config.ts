/** For `npx drizzle-kit generate --name=what-it-does`: tables in, numbered SQL out. */
import { defineConfig } from 'drizzle-kit'

export default defineConfig({ dialect: 'postgresql', schema: './db/tables', out: './db/migrations' })
