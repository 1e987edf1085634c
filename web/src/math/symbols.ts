// The names of LaTeX that stand for one character, and how that character behaves.

/** "name character" pairs, separated by white space. */
function table(pairs: string): Map<string, string> {
  const words = pairs.trim().split(/\s+/)
  const map = new Map<string, string>()
  for (let i = 0; i < words.length; i += 2) map.set(words[i]!, words[i + 1]!)
  return map
}

/** Letters: italic when they are small, as variables are. */
export const LETTERS = table(`
  alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ varkappa ϰ
  lambda λ mu μ nu ν xi ξ omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ
  chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω
  hbar ℏ ell ℓ imath ı jmath ȷ Re ℜ Im ℑ wp ℘ aleph ℵ beth ℶ partial ∂ nabla ∇ infty ∞ emptyset ∅ varnothing ∅
  degree ° angle ∠ triangle △ square □ Box □ diamond ⋄ Diamond ◇ star ⋆ top ⊤ bot ⊥ forall ∀ exists ∃ nexists ∄
  ldots … cdots ⋯ vdots ⋮ ddots ⋱ dots … dotsc … dotsb ⋯ prime ′ checkmark ✓ dagger † ddagger ‡ copyright © pounds £
  clubsuit ♣ diamondsuit ♢ heartsuit ♡ spadesuit ♠ complement ∁ mho ℧ flat ♭ natural ♮ sharp ♯
`)

/** Operators and relations. */
export const OPERATORS = table(`
  times × div ÷ cdot ⋅ pm ± mp ∓ ast ∗ circ ∘ bullet • oplus ⊕ ominus ⊖ otimes ⊗ oslash ⊘ odot ⊙ setminus ∖ smallsetminus ∖
  cap ∩ cup ∪ sqcap ⊓ sqcup ⊔ uplus ⊎ wedge ∧ land ∧ vee ∨ lor ∨ lnot ¬ neg ¬ amalg ⨿ wr ≀ ltimes ⋉ rtimes ⋊ bowtie ⋈
  leq ≤ le ≤ geq ≥ ge ≥ neq ≠ ne ≠ ll ≪ gg ≫ leqslant ⩽ geqslant ⩾ lesssim ≲ gtrsim ≳ equiv ≡ approx ≈ sim ∼ simeq ≃
  cong ≅ propto ∝ asymp ≍ doteq ≐ triangleq ≜ coloneqq ≔ prec ≺ succ ≻ preceq ⪯ succeq ⪰ perp ⟂ parallel ∥ nparallel ∦ mid ∣ nmid ∤
  in ∈ notin ∉ ni ∋ subset ⊂ supset ⊃ subseteq ⊆ supseteq ⊇ subsetneq ⊊ supsetneq ⊋ nsubseteq ⊈ sqsubseteq ⊑ sqsupseteq ⊒ vdash ⊢ dashv ⊣ models ⊨ vDash ⊨
  to → rightarrow → leftarrow ← gets ← leftrightarrow ↔ Rightarrow ⇒ Leftarrow ⇐ Leftrightarrow ⇔ iff ⟺ implies ⟹ impliedby ⟸
  longrightarrow ⟶ longleftarrow ⟵ Longrightarrow ⟹ Longleftarrow ⟸ longleftrightarrow ⟷ Longleftrightarrow ⟺ mapsto ↦ longmapsto ⟼
  uparrow ↑ downarrow ↓ updownarrow ↕ Uparrow ⇑ Downarrow ⇓ nearrow ↗ searrow ↘ swarrow ↙ nwarrow ↖ hookrightarrow ↪ hookleftarrow ↩
  rightharpoonup ⇀ rightharpoondown ⇁ leftharpoonup ↼ rightleftharpoons ⇌ leadsto ⇝ rightsquigarrow ⇝ nrightarrow ↛ nleftarrow ↚
  therefore ∴ because ∵ colon : vert | lvert | rvert | Vert ‖ lVert ‖ rVert ‖ backslash \\ lbrace { rbrace } lbrack [ rbrack ]
  langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ ulcorner ⌜ urcorner ⌝ smile ⌣ frown ⌢ lhd ⊲ rhd ⊳ trianglelefteq ⊴ blacksquare ■ qed ■
`)

/** Operators whose limits stand above and below them where there is room. */
export const LARGE = table(`
  sum ∑ prod ∏ coprod ∐ bigcup ⋃ bigcap ⋂ bigsqcup ⨆ bigvee ⋁ bigwedge ⋀ bigoplus ⨁ bigotimes ⨂ bigodot ⨀ biguplus ⨄
`)
export const INTEGRALS = table(`int ∫ iint ∬ iiint ∭ oint ∮ oiint ∯ smallint ∫`)

export const FUNCTIONS = new Set(
  'arccos arcsin arctan arg cos cosh cot coth csc deg dim exp hom ker lg ln log sec sin sinh tan tanh'.split(' '),
)
/** Functions with their limits below. */
export const LIMITS = new Set('argmax argmin det gcd inf lim liminf limsup max min Pr sup plim'.split(' '))

export const ACCENTS = table(`
  hat ^ widehat ^ bar ¯ overline ¯ vec → overrightarrow → overleftarrow ← tilde ~ widetilde ~ dot ˙ ddot ¨ dddot ⃛ check ˇ breve ˘ acute ´ grave \` mathring ˚
  overbrace ⏞ overparen ⏜
`)
export const BELOW = table(`underline _ underbrace ⏟ underrightarrow → underleftarrow ← underparen ⏝`)
export const STRETCHED = new Set(
  'widehat overline overrightarrow overleftarrow widetilde overbrace overparen underline underbrace underrightarrow underleftarrow underparen'.split(' '),
)

/** Widths in em. */
export const SPACES = new Map<string, number>(
  Object.entries({ ',': 0.17, thinspace: 0.17, ':': 0.22, '>': 0.22, ';': 0.28, '!': -0.17, quad: 1, qquad: 2, enspace: 0.5, ' ': 0.25, space: 0.25 }),
)

/** Alphabets of Unicode: where their capital and small letters and digits begin, and the letters that lie elsewhere. */
export const ALPHABETS: Record<string, { upper: number; lower: number; digit?: number; except?: string }> = {
  mathbb: { upper: 0x1d538, lower: 0x1d552, digit: 0x1d7d8, except: 'CℂHℍNℕPℙQℚRℝZℤ' },
  mathbf: { upper: 0x1d400, lower: 0x1d41a, digit: 0x1d7ce },
  boldsymbol: { upper: 0x1d468, lower: 0x1d482, digit: 0x1d7ce },
  bm: { upper: 0x1d468, lower: 0x1d482, digit: 0x1d7ce },
  mathcal: { upper: 0x1d49c, lower: 0x1d4b6, except: 'BℬEℰFℱHℋIℐLℒMℳRℛeℯgℊoℴ' },
  mathscr: { upper: 0x1d49c, lower: 0x1d4b6, except: 'BℬEℰFℱHℋIℐLℒMℳRℛeℯgℊoℴ' },
  mathfrak: { upper: 0x1d504, lower: 0x1d51e, except: 'CℭHℌIℑRℜZℨ' },
  mathsf: { upper: 0x1d5a0, lower: 0x1d5ba, digit: 0x1d7e2 },
  mathtt: { upper: 0x1d670, lower: 0x1d68a, digit: 0x1d7f6 },
}
