/** The only file that reads the environment. */
export type Environment = Readonly<Record<string, string | undefined>>

export const environment = (): Environment => process.env
