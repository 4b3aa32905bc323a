# tool: ghc
# how: a program of two modules with one wrong type
# decisive: Couldn't match type ‘[Char]’ with ‘Int’
# decisive: Main.hs:6:
prepare() {
printf 'module Price where\n\nprice :: String -> Int\nprice = length\n\nlabel :: Int -> String\nlabel n = show n ++ " EUR"\n' > Price.hs
printf 'module Main where\n\nimport Price\n\ntotal :: [String] -> Int\ntotal names = sum (map price names) + label 3\n\nmain :: IO ()\nmain = print (total ["a"])\n' > Main.hs
}
run() { ghc -Wall Main.hs; }
