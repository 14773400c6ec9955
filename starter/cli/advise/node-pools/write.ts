import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { counted } from '../../../document/words.ts'
import { commentOf, yamlText } from '../../../document/yaml-text.ts'
import { inputName } from '../../bounded/input.ts'
import { CommandError } from '../../shared/command-error.ts'
import type { Proposal } from './propose.ts'

/** Writes proposals into one file, where the path ends in .yaml or .yml, else one file each into a folder. Returns what was written. Errors: CommandError; nothing is replaced. */
export function writeProposals(path: string, proposals: readonly Proposal[]): string {
  const isFile = /\.ya?ml$/.test(path)
  try {
    if (isFile) writeNew(path, proposals.map(manifestsOf).join('---\n'))
    else {
      mkdirSync(path, { recursive: true })
      for (const proposal of proposals) writeNew(join(path, `${proposal.name}.yaml`), manifestsOf(proposal))
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const remedy = code === 'EEXIST' ? 'it is there already; remove it, or name another' : message
    throw new CommandError(`--write-nodepools ${inputName(path)}: ${remedy}`)
  }
  return `wrote ${counted(proposals.length, 'NodePool')} to ${inputName(path)}`
}

function writeNew(path: string, text: string): void {
  writeFileSync(path, text, { flag: 'wx' })
}

/** The manifests of a proposal, with notes as comments. */
function manifestsOf({ nodePool, nodeClass, notes }: Proposal): string {
  return `${yamlText(nodePool, commentOf(...notes))}---\n${yamlText(nodeClass)}`
}
