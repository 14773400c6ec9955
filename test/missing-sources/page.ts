import { readingApart } from './commands.ts'
import type { Names } from './small-cluster.ts'

/** What a command did without one of its sources. */
export interface Row {
  readonly command: string
  readonly what: string
  readonly role: 'needed' | 'adorns'
  readonly exit: number
  /** The line that names what is missing. */
  readonly said: string
}

const head = `# What a command says without one of its sources

An answer is made of sources: kinds of Kubernetes, Joiner's ConfigMaps, Temporal, Azure. What an answer *needs* and cannot be read is said first, and the command ends with 1. What *adorns* an answer is said where it would stand, and the command ends with 0. Nothing that could not be read is shown as none.

The table is what commands printed in a small cluster (\`test/missing-sources\`), which is written by \`npx vitest run --project unit test/missing-sources -u\`. The same is asked with \`-o json\`, with the same exit codes.
`

/** Returns the page of the documentation. */
export function pageOf(rows: readonly Row[], { node, nodeClaim, waiting, running }: Names): string {
  const named = (text: string) =>
    [waiting, running]
      .reduce((all, pod) => all.replaceAll(pod.slice('default/'.length), 'POD'), text)
      .replaceAll(node, 'NODE')
      .replaceAll(nodeClaim, 'NODECLAIM')
  const commands = [...Map.groupBy(rows, ({ command }) => command)].map(([command, own]) =>
    [
      `## \`joiner ${command.replace(',', '`,')}${command.includes(',') ? '' : '`'}`,
      '',
      '| missing | source | exit | what is printed |',
      '| --- | --- | ---: | --- |',
      ...together(own).map(({ what, role, exit, said }) => `| ${what} | ${role} | ${exit} | ${cell(named(said))} |`),
      '',
    ].join('\n'),
  )
  const apart = Object.entries(readingApart).map(([command, why]) => `- \`joiner ${command}\`: ${why}.`)
  return `${head}\n${commands.join('\n')}\n## Not in these tables\n\n${apart.join('\n')}\n`
}

const right = 'no right to read '

/** Returns rows that differ in the name of what may not be read alone as one, with the sentence of the first. */
function together(rows: readonly Row[]): readonly Row[] {
  const likeness = ({ what, role, exit, said }: Row) => {
    const source = what.slice(right.length).replace(/-N$/, '-')
    return what.startsWith(right) ? [right, role, exit, said.toLowerCase().replaceAll(source, '')].join() : what
  }
  return [...Map.groupBy(rows, likeness).values()].flatMap((group) => {
    const [first] = group
    const rest = group.slice(1).map(({ what }) => what.slice(right.length))
    return first === undefined ? [] : [{ ...first, what: [first.what, ...rest].join(', ') }]
  })
}

function cell(text: string): string {
  return text.trim().replaceAll('|', '\\|')
}
