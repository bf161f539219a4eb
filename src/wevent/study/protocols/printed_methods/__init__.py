"""NOT PRIVATE: the parts of protocol `printed`, what the released code of [Du25] did; nothing else may use them."""
