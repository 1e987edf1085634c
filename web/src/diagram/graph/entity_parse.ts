// Entities: attributes in a table, relations with numbers at both ends.
import { demand, Unreadable } from '../base/limits'
import { linesOf } from '../base/source'
import { plain } from '../base/text'
import { directionOf, Graph, type Head, type Node } from './graph'

const NAME = String.raw`("[^"]+"|[\p{L}\p{N}_.*-]+?)(?:\[("[^"]+"|[^\]]+)\])?(?::::[\w,-]+)?`
const RELATION = new RegExp(String.raw`^${NAME}\s*(\|o|\|\||\}o|\}\|)(--|\.\.)(o\||\|\||o\{|\|\{)\s*${NAME}(?:\s*:\s*(.*))?$`, 'u')
const ENDS: Record<string, Head> = {
  '|o': 'maybe-one',
  'o|': 'maybe-one',
  '||': 'one',
  '}o': 'maybe-many',
  'o{': 'maybe-many',
  '}|': 'many',
  '|{': 'many',
}
const IGNORED = /^(?:classDef|class|style|title|accTitle|accDescr)\b/
const ROWS_MAX = 80

export function parseEntities(body: string): Graph {
  const graph = new Graph()
  let open: Node | null = null
  const nodeOf = (name: string, label?: string): Node => {
    const id = plain(name)
    const node = graph.node(id)
    if (node.shape !== 'card') Object.assign(node, { shape: 'card', label: id, sections: [] })
    if (label) node.label = plain(label)
    return node
  }
  for (const line of linesOf(body)) {
    if (open) {
      if (line === '}') open = null
      else addAttribute(open, line)
      continue
    }
    if (IGNORED.test(line)) continue
    const direction = /^direction\s+(\w+)$/.exec(line)
    if (direction) {
      graph.direction = directionOf(direction[1]!) ?? 'TB'
      continue
    }
    const relation = RELATION.exec(line)
    if (relation) {
      addRelation(graph, relation, nodeOf)
      continue
    }
    const entity = new RegExp(String.raw`^${NAME}\s*(\{)?\s*(\})?$`, 'u').exec(line)
    if (!entity) throw new Unreadable()
    const node = nodeOf(entity[1]!, entity[2])
    if (entity[3] && !entity[4]) open = node
  }
  demand(!open)
  graph.finish()
  return graph
}

function addRelation(graph: Graph, found: RegExpExecArray, nodeOf: (name: string, label?: string) => Node): void {
  const [, a, aLabel, tail, sign, head, b, bLabel, label = ''] = found
  graph.edge({
    from: nodeOf(a!, aLabel).id,
    to: nodeOf(b!, bLabel).id,
    label: plain(label),
    line: sign === '..' ? 'dotted' : 'solid',
    tail: ENDS[tail!]!,
    head: ENDS[head!]!,
  })
}

/** 'string name PK, FK "a comment"' */
function addAttribute(node: Node, line: string): void {
  const found = /^(\S+)\s+(\S+)(?:\s+((?:PK|FK|UK)(?:\s*,\s*(?:PK|FK|UK))*))?(?:\s+"([^"]*)")?$/.exec(line)
  if (!found) throw new Unreadable()
  const [, type, name, keys = '', comment = ''] = found
  if (node.sections.length === 0) node.sections.push([])
  demand(node.sections[0]!.length < ROWS_MAX)
  node.sections[0]!.push([plain(type!), plain(name!), keys.replace(/\s/g, ''), plain(comment)])
}
