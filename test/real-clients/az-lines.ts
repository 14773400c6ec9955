import { readFileSync } from 'node:fs'
import { blocksOf, pages } from '../pages/blocks.ts'

/** A command of the Azure CLI on our pages, or what a page prepares for the next one. */
export interface AzLine {
  readonly text: string
  /** The pages that have it. */
  readonly pages: readonly string[]
}

const notes = 'deploy/chart/templates/NOTES.txt'

/** Returns the commands of the Azure CLI on all pages, in their order: of shell blocks, with files that `sed` writes for them, of the text, where they have options, and of the chart's notes. */
export function azLines(): readonly AzLine[] {
  const found = [...pages, notes].flatMap((page) => {
    const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8')
    return (page === notes ? linesOf(text) : azLinesOf(page, text)).map((line) => ({ page, line }))
  })
  return [...Map.groupBy(found, ({ line }) => line)].map(([text, all]) => ({
    text,
    pages: [...new Set(all.map(({ page }) => page))],
  }))
}

/** Returns the commands of a page in Markdown. */
export function azLinesOf(page: string, markdown: string): readonly string[] {
  const blocks = blocksOf(page, markdown).flatMap(({ text }) => linesOf(text))
  const prose = markdown.replaceAll(/^```[\s\S]*?^```$/gm, '')
  return [...blocks, ...[...prose.matchAll(/`(az [^`]* --[^`]+)`/g)].flatMap(([, span]) => span ?? [])]
}

/** Returns the blocks of a page that have a command of the Azure CLI, line by line as somebody types them who has that and no Docker. */
export function typedLinesOf(page: string, markdown: string): readonly string[] {
  return blocksOf(page, markdown)
    .filter(({ text }) => linesOf(text).length > 0)
    .flatMap(({ text }) => text.replaceAll(/\s*\\\n\s*/g, ' ').split('\n'))
    .filter((line) => line.trim() !== '' && !line.startsWith('docker '))
}

/**
 * Lines of a shell that begin with `az` or put what it prints into a variable, and with `sed` where one does; a line goes on after a backslash. `export`
 * would hide that a command failed.
 */
function linesOf(text: string): readonly string[] {
  const lines = text.replaceAll(/\s*\\\n\s*/g, ' ').split('\n')
  const commands = lines
    .map((line) => line.trim().replace(/^export /, ''))
    .filter((line) => /^(az|sed|\w+="\$\(az) /.test(line))
  return commands.some((line) => !line.startsWith('sed ')) ? commands : []
}
