/** Why a command cannot go on, and what to do: its message is printed as it stands, without a stack trace. */
export class ReportedError extends Error {}
