// The pages of docs/ as a site with search: `npm run docs` writes it to build/site. Pages are written for GitHub; what differs there is here.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const docs = join(import.meta.dirname, '..')
const read = (page) => readFileSync(join(docs, page), 'utf8')
const titleOf = (page) => /^# (.*)$/m.exec(read(page))?.[1].replaceAll('`', '') ?? page

/** Sections of the index, with their pages in its order: the side bar says nothing that docs/README.md does not. */
function sidebar() {
  return read('README.md')
    .split(/^(?=## )/m)
    .slice(1)
    .map((section) => ({
      text: /^## (.*)$/m.exec(section)[1],
      collapsed: true,
      items: [...section.matchAll(/^- .*$/gm)]
        .flatMap(([line]) => [...line.matchAll(/\]\(([\w/-]+\.md)\)/g)])
        .map(([, page]) => ({ text: titleOf(page), link: `/${page.replace(/(README)?\.md$/, '')}` })),
    }))
}

/** Anchors as GitHub makes them, so that the links of the pages lead to the same headings. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
    .replaceAll(' ', '-')

/** Comments of whole lines are for the tests; what looks like a tag is text. */
function asOnGitHub(md) {
  md.core.ruler.before('normalize', 'comments', (state) => {
    state.src = state.src.replaceAll(/^<!-- .* -->$/gm, '')
  })
  const fence = md.renderer.rules.fence
  md.renderer.rules.fence = (tokens, index, ...rest) =>
    tokens[index].info === 'mermaid'
      ? `<pre class="mermaid" v-pre>${md.utils.escapeHtml(tokens[index].content)}</pre>`
      : fence(tokens, index, ...rest)
  // Two braces are an expression for Vue.
  for (const rule of ['text', 'code_inline', 'code_block']) {
    const render = md.renderer.rules[rule]
    md.renderer.rules[rule] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
  }
  // Files of the repository that are no pages have no address on the site.
  const open = md.renderer.rules.link_open
  md.renderer.rules.link_open = (tokens, index, options, env, self) => {
    const href = tokens[index].attrGet('href') ?? ''
    if (!isOfSite(href) || isOutside(href, env.relativePath ?? '')) {
      tokens[index].tag = 'span'
      const close = tokens.findIndex((token, at) => at > index && token.type === 'link_close')
      tokens[close].tag = 'span'
      return `<span title="${md.utils.escapeHtml(href)} in the repository">`
    }
    // As `rewrites` names them.
    tokens[index].attrSet('href', href.replace(/README\.md(?=#|$)/, 'index.md'))
    return open(tokens, index, options, env, self)
  }
}

/** A heading, an address elsewhere, or a page: not a folder or a source file. */
function isOfSite(href) {
  return /^(#|[a-z]+:)|\.md(#|$)/.test(href)
}

function isOutside(href, page) {
  const depth = page.split('/').length - 1
  const ups = /^(?:\.\.\/)*/.exec(href)[0].length / 3
  return ups > depth
}

export default {
  title: 'Joiner',
  description: 'A node autoscaler for AKS that speaks Karpenter and explains itself',
  outDir: '../build/site',
  cacheDir: '../build/site-cache',
  cleanUrls: true,
  // What a port-forward serves on the reader's machine.
  ignoreDeadLinks: 'localhostLinks',
  rewrites: Object.fromEntries(
    [
      '',
      ...readdirSync(docs, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [`${one.name}/`] : [])),
    ].map((folder) => [`${folder}README.md`, `${folder}index.md`]),
  ),
  markdown: { html: false, anchor: { slugify }, config: asOnGitHub },
  themeConfig: {
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: 'local' },
  },
}
