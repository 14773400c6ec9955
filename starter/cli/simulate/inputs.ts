import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ReportedError } from '../../document/reported-error.ts'
import { type InputFile, inputName, needInput } from '../bounded/input.ts'

const suffixes = ['.json', '.yaml', '.yml']

/** The bytes of files, of all manifests below directories, and of standard input (`-`), in the order given. Errors: ReportedError. */
export async function readInputs(inputs: readonly string[]): Promise<readonly InputFile[]> {
  const files: InputFile[] = []
  for (const file of inputs.flatMap(filesOf)) files.push(await needInput(file))
  return files
}

function filesOf(input: string): readonly string[] {
  if (input === '-' || !isDirectory(input)) return [input]
  const files = readdirSync(input, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && suffixes.some((suffix) => entry.name.endsWith(suffix)))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  if (files.length === 0)
    throw new ReportedError(
      `${inputName(input)}: the directory holds no manifests; files end in ${suffixes.join(', ')}`,
    )
  return files
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    // Reading it says what is wrong.
    return false
  }
}
