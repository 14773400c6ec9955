// Finds citations of pages and sections in texts, and what they name.

/** Something that a text names, and that has to exist. */
export interface Citation {
  readonly page: string
  /** Such as `4.8b`; undefined when the whole page is meant. */
  readonly section?: string
}

const section = String.raw`\d+(?:\.\d+)?[a-z]?`
const sections = String.raw`${section}(?:(?:, and |, | and | to |-)${section})*`
const reference = new RegExp(String.raw`\breference/([\w.-]+?)\.md(?:,? (${sections})(?![\w.]?\d))?`, 'g')

/** Citations of the reference: `reference/PAGE.md 4.2, 4.7`. A range names its two ends. Line breaks of comments do not matter. */
export function referencesIn(text: string): readonly Citation[] {
  return [...joined(text).matchAll(reference)].flatMap(([, name = '', list]) => {
    const page = `${name}.md`
    const named = list?.match(new RegExp(section, 'g')) ?? []
    return named.length === 0 ? [{ page }] : named.map((one) => ({ page, section: one }))
  })
}

/** A text without the line breaks and stars that a comment has inside a citation. */
const joined = (text: string) => text.replaceAll(/\s*\n\s*(?:\*|\/\/|#)?[ \t]*/g, ' ')

/** The numbers of a page's headings, such as `4` and `4.8b`. */
export function headingNumbers(page: string): ReadonlySet<string> {
  return new Set([...page.matchAll(/^#{2,4} (\d+(?:\.\d+)?[a-z]?)\.? /gm)].map(([, number = '']) => number))
}

/** Where relative links and pictures of a Markdown page lead: a path, and the heading within it. Code is passed over. */
export function linksIn(page: string): readonly { readonly path: string; readonly anchor?: string }[] {
  return [...withoutCode(page).matchAll(/(?:\]\(|\b(?:src|srcset)=")([^)"\s]+)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return []
    const [path = '', anchor] = target.split('#')
    return [anchor === undefined ? { path } : { path, anchor }]
  })
}

/** Paths in this repository that the code in a Markdown page names. */
export function pathsIn(page: string): readonly string[] {
  const path =
    /(?<![\w/.@$:-])(?:core|api|activities|workflows|workers|starter|deploy|test|bench|docs|examples)\/[\w./*{},-]*[\w*/}]/g
  const code = [...page.matchAll(/^```[\s\S]*?^```|`[^`\n]+`/gm)].map(([text]) => text)
  return code.flatMap((text) => text.match(path) ?? [])
}

const withoutCode = (page: string) => page.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '')

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf(page: string): ReadonlySet<string> {
  const headings = [...page.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#{1,6} (.+)$/gm)]
  const texts = headings.map(([, text = '']) =>
    text
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set(texts)
}
