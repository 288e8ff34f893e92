/** Exit codes that are no error of the call: it worked, and what it looked at has a problem. Scripts must not repeat it. */
export const FOUND_FAILED = 11
