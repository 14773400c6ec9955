/** The parts of the command. */
export type Part = 'rules' | 'boards' | 'mutations' | 'keda' | 'azure-cli' | 'image' | 'real-nodes' | 'joined-nodes'

/** A line of the report: what was checked, and how it ended. */
export interface Checked {
  readonly part: Part
  readonly what: string
  readonly outcome: string
  readonly isOk: boolean
}

/** What the parts tell of their progress, and their results. */
export interface Recorder {
  readonly say: (line: string) => void
  readonly record: (checked: Checked) => void
}
